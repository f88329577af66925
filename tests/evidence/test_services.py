"""The test embedder hashes words into vectors: two texts of n words that share all but one word
have a cosine near 1 - 1/n."""

import pytest

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Artifact
from documents.services import TextContent, remove_artifact, replace_content
from evidence.duplicates import (
    DuplicateFinder,
    StoredFinding,
    embed_artifact,
    embed_contents,
)
from evidence.links import read_similar_findings
from evidence.models import EvidenceReference, RecentEvidence
from evidence.services import EvidenceInput, EvidenceVerdict, add_evidence
from evidence.spec import EvidenceSpec
from indexing.exceptions import StoreUnavailable
from indexing.models import Index, IndexBuild
from indexing.services import plan_nodes, store_search_settings
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.factories import give, sync

WORDS = "aspirin lowers the risk of colorectal cancer in adults who take it daily for ten years"
NEAR = WORDS.replace(" who ", " that ")  # 15 of 16 words
SIMILAR = WORDS.replace("daily", "weekly")  # 15 of 16 words, and another meaning
APART = "granite cools slowly under the ground and its crystals have time to grow"


def add(*items: EvidenceInput, **options) -> list:
    return add_evidence("evidence", items, **options)


def verdicts(*items: EvidenceInput, **options) -> list[EvidenceVerdict]:
    return [decision.verdict for decision in add(*items, **options)]


def test_no_findings_give_no_decisions(findings):
    assert add() == []


def test_a_long_finding_is_compared_in_the_chunks_in_which_it_is_stored(findings, settings):
    settings.STRATA_SOURCE_OVERLAP_WORDS = 30
    text = " ".join(f"Finding number {n} has these six words." for n in range(400))

    [given] = embed_contents([("Long", TextContent((text,)))], findings)

    assert (
        given.tolist()
        == embed_artifact(give(text, title="Long", index="evidence"), findings).tolist()
    )


@pytest.fixture(params=["just given", "synced"])
def known(request, findings) -> Artifact:
    """One finding, before or after its sync to the vector store."""
    [decision] = add(EvidenceInput("https://one.example/a", WORDS))
    artifact = Artifact.objects.get(pk=decision.artifact_id)
    if request.param == "synced":
        sync(findings, artifact)
        add(EvidenceInput("https://one.example/a", WORDS))  # removes findings already in the store
        assert not RecentEvidence.objects.exists()
    return artifact


class TestAddEvidence:
    def test_stores_a_finding_with_its_citation(self, findings):
        citation = {"source": "Nature", "date": "2021-05-14", "authors": ["Ada Lovelace"]}

        [decision] = add(EvidenceInput("https://one.example/a", WORDS, "On aspirin", citation))

        assert decision.verdict == EvidenceVerdict.ADDED
        artifact = Artifact.objects.get(pk=decision.artifact_id)
        assert (artifact.url, artifact.title) == ("https://one.example/a", "On aspirin")
        assert artifact.metadata == citation
        assert artifact.revision == decision.revision
        sync(findings, artifact)
        assert verify_build(findings).is_sound

    def test_embeds_a_text_once_to_compare_and_to_index_it(self, findings, embedder):
        [decision] = add(EvidenceInput("https://one.example/a", WORDS))

        sync(findings, Artifact.objects.get(pk=decision.artifact_id))

        assert embedder.embedded == [WORDS]
        assert findings.nodes.filter(state="synced").count() == 1
        assert verify_build(findings).is_sound

    def test_embeds_a_text_again_if_the_index_adds_a_context(self, findings, embedder):
        [decision] = add(EvidenceInput("https://one.example/a", WORDS, "On aspirin"))
        recipe = findings.recipe | {"chunks": {**findings.recipe["chunks"], "context": ["title"]}}
        IndexBuild.objects.filter(pk=findings.pk).update(recipe=recipe)

        sync(IndexBuild.objects.get(pk=findings.pk), Artifact.objects.get(pk=decision.artifact_id))

        first, second = embedder.embedded
        assert first == WORDS
        assert second.startswith("On aspirin")

    def test_returns_the_stored_finding_of_a_duplicate(self, known):
        [decision] = add(EvidenceInput("https://other.example/b", NEAR))

        assert decision.verdict == EvidenceVerdict.DUPLICATE
        assert decision.artifact_id == known.pk
        assert decision.similarity == pytest.approx(15 / 16, abs=1e-2)
        assert Artifact.objects.count() == 1

    def test_links_a_similar_finding_that_says_something_else(self, known):
        added, repeated = add(
            EvidenceInput("https://other.example/b", SIMILAR),
            EvidenceInput("https://third.example/c", SIMILAR),
        )

        assert (added.verdict, repeated.verdict) == ("added", "duplicate")
        [similar] = added.similar
        assert similar.artifact_id == known.pk
        assert similar.similarity == pytest.approx(15 / 16, abs=1e-2)
        linked = read_similar_findings([known.pk, added.artifact_id], EVERYTHING)
        assert linked == {known.pk: [StoredFinding(added.artifact_id, similar.similarity)],
                          added.artifact_id: [similar]}  # fmt: skip

    def test_drops_the_links_of_a_finding_whose_content_has_changed(self, known):
        [added] = add(EvidenceInput("https://other.example/b", SIMILAR))

        replace_content(known.pk, TextContent((APART,)))

        assert read_similar_findings([known.pk, added.artifact_id], EVERYTHING) == {}

    def test_hides_links_to_findings_of_other_groups(self, findings):
        red, blue = (Grant(indexes=None, groups=frozenset([group])) for group in ("red", "blue"))
        [known] = add(EvidenceInput("https://one.example/a", WORDS), grant=red)

        [hidden] = add(EvidenceInput("https://two.example/b", SIMILAR), grant=blue)
        [shown] = add(EvidenceInput("https://three.example/c", SIMILAR), grant=red)

        assert hidden.similar == []
        assert [each.artifact_id for each in shown.similar] == [known.artifact_id]
        assert read_similar_findings([known.artifact_id], blue) == {}

    def test_finds_an_equal_text_at_threshold_one(self, known):
        [decision] = add(EvidenceInput("https://other.example/b", WORDS), threshold=1.0)

        assert (decision.verdict, decision.similarity) == (EvidenceVerdict.DUPLICATE, 1.0)

    def test_adds_a_finding_with_other_content(self, known):
        assert verdicts(EvidenceInput("https://other.example/b", APART)) == [EvidenceVerdict.ADDED]
        assert verdicts(EvidenceInput("https://third.example/c", NEAR), threshold=0.95) == [
            EvidenceVerdict.ADDED
        ]

    def test_updates_a_url_with_new_content(self, known):
        [decision] = add(EvidenceInput("https://one.example/a", APART))

        assert decision.verdict == EvidenceVerdict.UPDATED
        assert decision.artifact_id == known.pk
        # The previous content is no duplicate any more; the new content is.
        assert verdicts(
            EvidenceInput("https://other.example/b", WORDS),
            EvidenceInput("https://third.example/c", APART),
        ) == [EvidenceVerdict.ADDED, EvidenceVerdict.DUPLICATE]

    def test_updates_a_citation_once(self, known):
        item = EvidenceInput("https://one.example/a", WORDS, "A title", {"source": "Nature"})

        assert verdicts(item, item) == [EvidenceVerdict.UPDATED, EvidenceVerdict.DUPLICATE]

    def test_compares_within_a_batch(self, findings):
        assert verdicts(
            EvidenceInput("https://one.example/a", WORDS),
            EvidenceInput("https://two.example/b", NEAR),
            EvidenceInput("https://three.example/c", APART),
            EvidenceInput("https://one.example/a", APART + " indeed"),
        ) == [
            EvidenceVerdict.ADDED,
            EvidenceVerdict.DUPLICATE,
            EvidenceVerdict.ADDED,
            EvidenceVerdict.UPDATED,
        ]

    def test_adds_a_finding_if_one_of_its_passages_is_new(self, findings):
        long = "\n\n".join(f"Paragraph {n} of {WORDS * 3}." for n in range(60))
        add(EvidenceInput("https://one.example/a", long))

        assert verdicts(
            EvidenceInput("https://two.example/b", f"{long}\n\n{APART * 40}"),
            EvidenceInput("https://three.example/c", f"{long} "),
        ) == [EvidenceVerdict.ADDED, EvidenceVerdict.DUPLICATE]

    def test_ignores_deleted_findings(self, known):
        remove_artifact(known.pk)

        assert verdicts(EvidenceInput("https://other.example/b", NEAR)) == [EvidenceVerdict.ADDED]

    def test_adds_a_finding_whose_duplicate_was_deleted_meanwhile(self, known, monkeypatch):
        find_near = DuplicateFinder.find_near

        def delete_meanwhile(self, position, content, vectors):
            twin = find_near(self, position, content, vectors)
            Artifact.objects.filter(pk=known.pk).delete()
            return twin

        monkeypatch.setattr(DuplicateFinder, "find_near", delete_meanwhile)

        assert verdicts(EvidenceInput("https://other.example/b", NEAR)) == [EvidenceVerdict.ADDED]

    def test_compares_across_a_change_of_model(self, known, findings):
        RecentEvidence.objects.update(vector_space_hash="another", vectors=b"", vector_count=0)

        assert verdicts(EvidenceInput("https://other.example/b", NEAR)) == [
            EvidenceVerdict.DUPLICATE
        ]

    def test_compares_again_if_another_build_became_live(self, known, embedder, monkeypatch):
        embed = embedder.embed_documents
        asked = []

        def promote_meanwhile(texts):
            if not asked:
                asked.append(texts)
                old = IndexBuild.objects.live().get(index="evidence")
                new = IndexBuild.objects.create(
                    index_id="evidence", number=99, recipe=old.recipe, fingerprint=old.fingerprint
                )
                Index.objects.filter(pk="evidence").update(live_build=new)
                plan_nodes(known.pk, new)
            return embed(texts)

        monkeypatch.setattr(embedder, "embed_documents", promote_meanwhile)

        [decision] = add(EvidenceInput("https://two.example/b", APART))

        assert decision.verdict == EvidenceVerdict.ADDED
        assert len(asked) == 1

    def test_recognises_a_url_too_long_for_an_external_id(self, findings):
        url = f"https://one.example/{'a' * 1_900}"

        assert verdicts(EvidenceInput(url, WORDS), EvidenceInput(url, WORDS)) == [
            EvidenceVerdict.ADDED,
            EvidenceVerdict.DUPLICATE,
        ]

    def test_rejects_only_the_invalid_finding(self, findings):
        wrong = EvidenceInput("https://two.example/b", APART, None, {"date": "last spring"})

        added, rejected, repeated = add(
            EvidenceInput("https://one.example/a", WORDS),
            wrong,
            EvidenceInput("https://three.example/c", NEAR),
        )

        assert (added.verdict, repeated.verdict) == ("added", "duplicate")
        assert (rejected.verdict, rejected.artifact_id) == ("rejected", None)
        assert rejected.error.field == "items.1.citation.date"
        assert "'last spring'" in rejected.error.detail
        assert "May 2021" in rejected.error.fix
        assert Artifact.objects.get().url == "https://one.example/a"

    def test_raises_the_error_of_the_first_if_all_are_invalid(self, findings):
        wrong = EvidenceInput("https://two.example/b", APART, None, {"date": "last spring"})

        with pytest.raises(InvalidInput) as caught:
            add(EvidenceInput("https://one.example/a", " "), wrong)

        assert caught.value.field == "items.0.content"
        assert not Artifact.objects.exists()

    @pytest.mark.parametrize(
        ("written", "stored"),
        [
            ("2021", "2021-01-01"),
            ("2021-05", "2021-05-01"),
            ("Mar 2021", "2021-03-01"),
            ("March 2021", "2021-03-01"),
            ("14 May 2021", "2021-05-14"),
            ("May 14, 2021", "2021-05-14"),
            ("2021 Mar 15", "2021-03-15"),
            ("2021 Mar", "2021-03-01"),
            ("Mar. 15, 2021", "2021-03-15"),
            ("2021/03/15", "2021-03-15"),
        ],
    )
    def test_stores_the_first_day_of_an_inexact_date(self, findings, written, stored):
        add(EvidenceInput("https://one.example/a", WORDS, None, {"date": written}))

        metadata = Artifact.objects.get().metadata
        assert metadata == {"date": stored, "date_as_written": written}

    def test_stores_no_day_of_an_unknown_date(self, findings):
        add(EvidenceInput("https://one.example/a", WORDS, None, {"date": "Unknown"}))

        assert Artifact.objects.get().metadata == {"date_as_written": "Unknown"}

    def test_stores_nothing_while_the_store_is_unavailable(self, findings, monkeypatch):
        def refuse(*args):
            raise StoreUnavailable

        monkeypatch.setattr(get_store(), "search_many", refuse)

        with pytest.raises(StoreUnavailable):
            add(EvidenceInput("https://one.example/a", WORDS))
        assert not Artifact.objects.exists()

    def test_compares_by_exact_search(self, findings, monkeypatch):
        asked = []

        def look(requests):
            asked.extend(query for _, query in requests)
            return [[] for _ in requests]

        monkeypatch.setattr(get_store(), "search_many", look)

        add(EvidenceInput("https://one.example/a", WORDS))

        assert asked
        assert all(query.is_exact for query in asked)

    @pytest.mark.parametrize("content", ["", "  \n "])
    def test_rejects_blank_content(self, findings, content):
        _, rejected = add(
            EvidenceInput("https://one.example/a", WORDS),
            EvidenceInput("https://one.example/b", content),
        )

        assert (rejected.verdict, rejected.error.field) == ("rejected", "items.1.content")

    def test_names_the_indexes_that_accept_evidence(self, findings):
        with pytest.raises(InvalidInput) as caught:
            add_evidence("plain", [EvidenceInput("https://one.example/a", WORDS)])
        with pytest.raises(UnknownIndex):
            add_evidence("nowhere", [EvidenceInput("https://one.example/a", WORDS)])

        assert caught.value.allowed == ["evidence"]

    def test_finds_duplicates_among_documents_added_otherwise(self, findings):
        document = give(WORDS, index="evidence")
        sync(findings, document)

        [decision] = add(EvidenceInput("https://one.example/a", NEAR))

        assert (decision.verdict, decision.artifact_id) == (EvidenceVerdict.DUPLICATE, document.pk)


class TestDuplicatesBySimilarity:
    @pytest.fixture
    def by_similarity(self, findings) -> None:
        evidence = EvidenceSpec(duplicates="similarity")
        spec = findings.spec.model_copy(update={"evidence": evidence})
        store_search_settings(findings.index, spec)

    def test_are_findings_near_each_other_whatever_their_words(self, by_similarity):
        [known] = add(EvidenceInput("https://one.example/a", WORDS))

        [decision] = add(EvidenceInput("https://two.example/b", SIMILAR))

        assert (decision.verdict, decision.artifact_id) == ("duplicate", known.artifact_id)
        assert decision.similarity == pytest.approx(15 / 16, abs=1e-2)
        reference = EvidenceReference.objects.get()
        assert (reference.url, reference.content) == ("https://two.example/b", SIMILAR)

    def test_name_the_nearest_finding(self, by_similarity):
        far = WORDS.replace("daily for ten", "weekly at six")
        _, nearest, decision = add(
            EvidenceInput("https://one.example/a", far),
            EvidenceInput("https://two.example/b", WORDS),
            EvidenceInput("https://three.example/c", SIMILAR),
            threshold=0.85,
        )

        assert decision.artifact_id == nearest.artifact_id

    def test_end_below_the_threshold(self, by_similarity):
        assert verdicts(
            EvidenceInput("https://one.example/a", WORDS),
            EvidenceInput("https://two.example/b", SIMILAR),
            threshold=0.95,
        ) == ["added", "added"]

    def test_are_never_findings_that_not_all_of_its_readers_see(self, by_similarity):
        red, both = (Grant(groups=frozenset(names)) for names in (["red"], ["red", "blue"]))
        add(EvidenceInput("https://one.example/a", WORDS), grant=red)

        [decision] = add(EvidenceInput("https://two.example/b", SIMILAR), grant=both)

        assert decision.verdict == EvidenceVerdict.ADDED
