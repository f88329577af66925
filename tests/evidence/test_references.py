"""Repeats of a stored finding: kept as its references, until they take its place."""

import pytest

from access.grants import Grant
from documents.models import Artifact
from documents.services import TextContent, remove_artifact, replace_content, update_artifact
from evidence.links import read_references
from evidence.models import EvidenceReference
from evidence.services import EvidenceInput, EvidenceVerdict, add_evidence
from evidence.spec import EvidenceSpec
from indexing.models import Index, IndexBuild
from indexing.services import store_search_settings
from tests.evidence.test_services import APART, NEAR, SIMILAR, WORDS
from tests.factories import sync
from tests.granting import client_of, grant_by_header

RED, BLUE = (Grant(groups=frozenset({name})) for name in ("red", "blue"))
BOTH = Grant(groups=frozenset({"red", "blue"}))
FIRST, SECOND = "https://one.example/a", "https://two.example/b"
SAME = WORDS.replace("the risk", "a risk")  # 15 of 16 words


def add(*items: EvidenceInput, **options) -> list:
    return add_evidence("evidence", items, **options)


def compare_by_similarity(build: IndexBuild, duplicates: str = "similarity") -> None:
    evidence = EvidenceSpec(duplicates=duplicates)
    store_search_settings(build.index, build.spec.model_copy(update={"evidence": evidence}))


def replace_words(text: str, count: int) -> str:
    """The text with so many of its first words replaced; of its last ones if it is negative."""
    words = text.split()
    for number in range(count) if count > 0 else range(count, 0):
        words[number] = f"word{number}"
    return " ".join(words)


def urls() -> set[str]:
    return set(Artifact.objects.values_list("url", flat=True))


@pytest.fixture
def repeated(findings) -> Artifact:
    """A finding and one that repeats it."""
    citation = {"source": "Nature", "date": "2021"}
    [decision, repeat] = add(
        EvidenceInput(FIRST, WORDS), EvidenceInput(SECOND, NEAR, "Again", citation)
    )
    assert repeat.verdict == EvidenceVerdict.DUPLICATE
    return Artifact.objects.get(pk=decision.artifact_id)


class TestRepeat:
    def test_is_stored_with_its_url_citation_and_wording(self, repeated):
        [reference] = read_references([repeated.pk], Grant())[repeated.pk]

        assert (reference.url, reference.title, reference.content) == (SECOND, "Again", NEAR)
        assert reference.citation["source"] == "Nature"
        assert reference.similarity == pytest.approx(15 / 16, abs=1e-2)

    def test_is_stored_once_if_it_is_sent_again(self, repeated):
        [again] = add(EvidenceInput(SECOND, SAME))

        assert (again.verdict, again.artifact_id) == (EvidenceVerdict.DUPLICATE, repeated.pk)
        assert EvidenceReference.objects.get().content == SAME

    def test_is_deleted_once_its_url_has_other_content(self, repeated):
        [again] = add(EvidenceInput(SECOND, APART))

        assert again.verdict == EvidenceVerdict.ADDED
        assert not EvidenceReference.objects.exists()

    def test_replaces_a_deleted_finding(self, repeated, findings):
        add(EvidenceInput("https://three.example/c", SAME))

        remove_artifact(repeated.pk)

        heir = Artifact.objects.get()
        assert (heir.url, heir.title) == (SECOND, "Again")
        assert heir.metadata["date"] == "2021-01-01"
        assert heir.pages.get().text == NEAR
        assert EvidenceReference.objects.get().artifact == heir
        [repeat] = add(EvidenceInput("https://four.example/d", NEAR))
        assert (repeat.verdict, repeat.artifact_id) == (EvidenceVerdict.DUPLICATE, heir.pk)

    @pytest.mark.parametrize("is_by_evidence", [True, False])
    def test_replaces_a_finding_whose_content_changes(self, repeated, findings, is_by_evidence):
        sync(findings, repeated)
        if is_by_evidence:
            updated, repeat = add(
                EvidenceInput(FIRST, APART), EvidenceInput("https://four.example/d", NEAR)
            )
            assert updated.verdict == EvidenceVerdict.UPDATED
            assert repeat.verdict == EvidenceVerdict.DUPLICATE
            assert repeat.artifact_id == Artifact.objects.get(url=SECOND).pk
        else:
            replace_content(repeated.pk, TextContent((APART,)))

        assert urls() == {FIRST, SECOND}

    def test_refers_to_a_heir_only_if_it_repeats_it_by_similarity_alone(self, findings):
        compare_by_similarity(findings)
        like_both, near, far, nearer = (replace_words(WORDS, count) for count in (0, 2, -2, 1))
        add(
            EvidenceInput(FIRST, like_both),
            EvidenceInput(SECOND, near),
            EvidenceInput("https://three.example/c", far),
            EvidenceInput("https://four.example/d", nearer),
            threshold=0.85,
        )

        remove_artifact(Artifact.objects.get().pk)

        assert urls() == {SECOND, "https://three.example/c"}
        reference = EvidenceReference.objects.get()
        assert (reference.url, reference.artifact.url) == ("https://four.example/d", SECOND)
        assert reference.similarity == pytest.approx(15 / 16, abs=1e-2)

    def test_becomes_a_finding_if_it_has_other_words_than_the_heir(self, findings):
        compare_by_similarity(findings)
        third = "https://three.example/c"
        add(EvidenceInput(FIRST, WORDS), EvidenceInput(SECOND, NEAR), EvidenceInput(third, SIMILAR))
        compare_by_similarity(findings, duplicates="words")

        remove_artifact(Artifact.objects.get().pk)

        assert urls() == {SECOND, third}

    def test_stays_while_only_the_title_changes(self, repeated):
        update_artifact(repeated.pk, title="On aspirin")

        assert urls() == {FIRST}
        assert EvidenceReference.objects.count() == 1

    def test_is_deleted_with_its_index(self, repeated):
        Index.objects.filter(pk="evidence").update(removal_requested_at="2026-01-01T00:00Z")

        remove_artifact(repeated.pk)

        assert not Artifact.objects.exists()
        assert not EvidenceReference.objects.exists()


class TestGroups:
    def test_hide_a_repeat_from_other_groups(self, findings):
        [decision, _] = add(EvidenceInput(FIRST, WORDS), EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=RED)

        def seen(grant):
            found = read_references([decision.artifact_id], grant)
            return [each.url for each in found.get(decision.artifact_id, [])]

        assert seen(Grant()) == seen(RED) == [SECOND]
        assert seen(BLUE) == []

    def test_keep_a_finding_visible_to_more_groups_than_its_duplicate(self, findings):
        add(EvidenceInput(FIRST, WORDS), grant=RED)

        [for_both] = add(EvidenceInput(SECOND, NEAR), grant=BOTH)
        [for_red] = add(EvidenceInput("https://three.example/c", SAME), grant=RED)

        assert for_both.verdict == EvidenceVerdict.ADDED
        assert for_red.verdict == EvidenceVerdict.DUPLICATE

    def test_turn_a_repeat_into_a_finding_once_its_duplicate_is_hidden(self, findings):
        [decision] = add(EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=BLUE)

        update_artifact(decision.artifact_id, groups=["red"])

        assert Artifact.objects.get(url=SECOND).groups == ["blue"]

    def test_keep_one_finding_for_each_group_after_a_deletion(self, findings):
        [decision] = add(EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=BLUE)
        add(EvidenceInput("https://three.example/c", SAME), grant=RED)

        remove_artifact(decision.artifact_id)

        groups = dict(Artifact.objects.values_list("url", "groups"))
        assert groups == {SECOND: ["blue"], "https://three.example/c": ["red"]}

    def test_keep_a_hidden_repeat_as_a_finding_once_its_duplicate_is_deleted(
        self, findings, monkeypatch
    ):
        [shared] = add(EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=BLUE)
        [alone] = add(EvidenceInput("https://three.example/c", APART))
        grant_by_header(monkeypatch, {"red": RED, "blue": BLUE})

        answers = [
            client_of("red").delete(f"/api/v1/artifacts/{each.artifact_id}/")
            for each in (shared, alone)
        ]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json().keys() == answers[1].json().keys()
        listed = {
            name: client_of(name).get("/api/v1/indexes/evidence/artifacts/").json()["results"]
            for name in ("red", "blue")
        }
        assert listed["red"] == []
        assert [each["url"] for each in listed["blue"]] == [SECOND]

    def test_keep_a_hidden_repeat_whose_url_is_that_of_another_finding(self, findings):
        [decision] = add(EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=BLUE)
        add(EvidenceInput(SECOND, APART), grant=RED)

        remove_artifact(decision.artifact_id)

        groups = {each.pages.get().text: (each.url, each.groups) for each in Artifact.objects.all()}
        assert groups == {NEAR: (SECOND, ["blue"]), APART: (SECOND, ["red"])}

    def test_keep_the_repeats_of_each_group_that_have_the_same_url(self, findings):
        [decision] = add(EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=BLUE)
        add(EvidenceInput(SECOND, SAME), grant=RED)

        remove_artifact(decision.artifact_id)

        found = {each.pages.get().text: each.groups for each in Artifact.objects.all()}
        assert found == {NEAR: ["blue"], SAME: ["red"]}

    def test_keep_a_hidden_repeat_whose_url_is_added_for_everybody(self, findings):
        [decision] = add(EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=BLUE)
        add(EvidenceInput(SECOND, APART), grant=Grant(groups=frozenset()))

        assert [each.content for each in EvidenceReference.objects.all()] == [NEAR]
        remove_artifact(decision.artifact_id)

        found = {each.pages.get().text: each.groups for each in Artifact.objects.all()}
        assert found == {NEAR: ["blue"], APART: []}

    @pytest.mark.parametrize("content", [APART, SAME])
    def test_keep_a_repeat_for_those_who_do_not_see_what_has_its_url_now(self, findings, content):
        [decision] = add(EvidenceInput(FIRST, WORDS))
        add(EvidenceInput(SECOND, NEAR), grant=BOTH)

        add(EvidenceInput(SECOND, content), grant=RED)

        [kept] = read_references([decision.artifact_id], BLUE)[decision.artifact_id]
        assert kept.content == NEAR
