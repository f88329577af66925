"""Versions and copies of a passage are one hit."""

from typing import Any

import pytest

from documents.models import Artifact
from retrieval.search.versions import strip_marks
from tests.clients import client_with_key
from tests.factories import change_search, give, sync
from tests.written import make_build, write_all

pytestmark = pytest.mark.django_db

TARIFF = (
    "Vessels of more than 12 metres pay {fee} euro a night in the harbour of Ven. The fee is due "
    "on arrival at the office on the north quay. Dogs are kept on a leash, and fires are lit on "
    "the beach alone. Version {number}, valid from 1 January {year}."
)
CRANE = "Whoever pays the fee of the harbour may also use the crane of Ven for one hour a night."
QUERY = "what do vessels pay per night in the harbour of Ven"


@pytest.fixture
def build(db, embedder, store):
    return make_build("plain", metadata={"version": {"type": "integer"}})


def tariff(number: int) -> str:
    return TARIFF.format(fee=70 + 3 * number, number=number, year=2015 + number)


def add_tariffs(*numbers: int, **given: Any) -> list[Artifact]:
    return [
        give(
            tariff(number),
            title="Tariff of the harbour",
            external_id=f"{'old/' if number < 3 else ''}tariff-v{number}.txt",
            **given,
        )
        for number in numbers
    ]


def search(limit: int = 5, groups: list[str] | None = None, **options: Any) -> list[dict[str, Any]]:
    client = client_with_key(groups=groups)
    given = {"index": "plain", "query": QUERY, "limit": limit, **options}
    return client.post("/api/v1/search/pages", given, format="json").json()["hits"]


def names(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["artifact"]["external_id"] for hit in hits]


class TestVersions:
    def test_are_one_hit_of_the_newest(self, build):
        sync(build, *add_tariffs(1, 2, 3), give(CRANE, external_id="crane"))

        # Equal scores may stand in any order.
        first, second = sorted(search(), key=lambda hit: "folded" not in hit)

        assert names([first, second]) == ["tariff-v3.txt", "crane"]
        assert first["text"] == tariff(3)
        assert (first["folded"]["versions"], first["folded"]["copies"]) == (2, 0)
        texts = {each["text"] for each in first["folded"]["passages"]}
        assert texts == {tariff(1), tariff(2)}
        assert "folded" not in second

    def test_are_all_hits_where_that_is_asked_for(self, build):
        sync(build, *add_tariffs(1, 2, 3))

        assert len(search(versions="all")) == 3

    def test_leave_room_for_other_documents(self, build):
        sync(build, *add_tariffs(*range(1, 9)), give(CRANE, external_id="crane"))

        assert names(search(limit=2)) == ["tariff-v8.txt", "crane"]
        assert names(search(limit=2, group_by="artifact")) == ["tariff-v8.txt", "crane"]

    def test_are_ordered_by_the_field_of_the_spec(self, build):
        documents = [
            give(tariff(number), title="Tariff", metadata={"version": number})
            for number in (3, 1, 2)
        ]
        change_search(build, versions_by="version")
        sync(build, *documents)

        [hit] = search()

        assert (hit["metadata"]["version"], hit["folded"]["versions"]) == (3, 2)

    def test_may_hold_values_of_other_types_from_before_the_field_was_declared(self, build):
        documents = [give(tariff(number), title="Tariff") for number in (1, 2, 3, 4)]
        for document, value in zip(documents, (7, "seven", [7], 2.5), strict=True):
            Artifact.objects.filter(pk=document.pk).update(metadata={"version": value})
        change_search(build, versions_by="version")
        sync(build, *Artifact.objects.all())

        hits = search()

        assert sum(hit.get("folded", {}).get("versions", 0) for hit in hits) == 2
        assert len(hits) == 2

    def test_that_a_key_may_not_see_neither_fold_nor_count(self, build):
        sync(build, *add_tariffs(1, 2), *add_tariffs(3, groups=["board"]))

        [seen] = search(groups=["guests"])
        [all_seen] = search(groups=["board"])

        assert (names([seen]), seen["folded"]["versions"]) == (["old/tariff-v2.txt"], 1)
        assert (names([all_seen]), all_seen["folded"]["versions"]) == (["tariff-v3.txt"], 2)


class TestOtherDocuments:
    def test_that_differ_in_a_number_are_hits_of_their_own(self, build):
        ven = give(tariff(1), title="Tariff of Ven", external_id="ven-2016")
        lund = give(tariff(2), title="Tariff of Ven", external_id="ven-2017")
        sync(build, ven, lund)

        assert len(search()) == 2

    def test_that_are_called_like_a_version_and_say_something_else(self, build):
        fee, crane = (
            give(text, title="Notes", external_id=name)
            for text, name in ((tariff(1), "notes-v1"), (CRANE, "notes-v2"))
        )
        sync(build, fee, crane)

        assert len(search()) == 2

    def test_that_repeat_a_short_passage_are_hits_of_their_own(self, build):
        sync(build, give(CRANE, title="Ven"), give(CRANE, title="Lund"))

        assert len(search()) == 2


class TestCopies:
    def test_are_one_hit_of_the_newer_document(self, build):
        old, new = give(tariff(1), title="Old"), give(tariff(1), title="New")
        sync(build, old, new)

        [hit] = search()

        assert hit["artifact"]["title"] == "New"
        assert (hit["folded"]["versions"], hit["folded"]["copies"]) == (0, 1)
        assert hit["folded"]["passages"][0]["text"] is None

    def test_in_a_binder_are_those_of_the_document(self, build):
        document = give(tariff(1), title="Tariff")
        binder = give("\n\n".join([tariff(1), *["The ferry leaves at noon."] * 30]), title="Binder")
        sync(build, document, binder)

        titles = [hit["artifact"]["title"] for hit in search(limit=1)]

        assert titles == ["Tariff"]

    def test_of_several_versions_in_one_passage_are_those_of_the_versions(self, build):
        binder = give("\n\n".join(map(tariff, (1, 2, 3))), title="Binder", external_id="binder")
        sync(build, *add_tariffs(1, 2, 3), binder, give(CRANE, external_id="crane"))

        assert names(search()) == ["tariff-v3.txt", "crane"]

    def test_within_one_document_are_hits_of_their_own(self, build):
        text = "\n\n".join([tariff(1), "The ferry leaves at noon." * 90, tariff(1)])
        sync(build, give(text, title="Tariff"))

        assert len([hit for hit in search(limit=20) if hit["text"] == tariff(1)]) == 2


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("tariff-v10", "tariff"),
        ("Tariff of Ven, version 2.1", "tariff of ven"),
        ("tariff_v2_final", "tariff"),
        ("Policy Rev. B", "policy"),
        ("Handbook v3 2024", "handbook"),
        ("Invoice 4711", "invoice 4711"),
        ("Annual report 2019", "annual report 2019"),
        ("V8 engine manual", "v8 engine manual"),
        ("IPv6", "ipv6"),
        ("Revision of the statutes", "revision of the statutes"),
    ],
)
def test_names_without_marks_of_versions(name, plain):
    assert strip_marks(name) == plain


SEARCHES = ("pages", "questions", "summaries", "hierarchical", "recursive")


def find_documents(kind: str, **options: Any) -> list[str]:
    """The external ids of the documents that a search shows, in their order."""
    given = {"index": "plain", "query": QUERY, "limit": 5, **options}
    answer = client_with_key().post(f"/api/v1/search/{kind}", given, format="json").json()
    hits = answer.get("hits") or [
        chunk
        for artifact in answer["artifacts"]
        for page in artifact["pages"]
        for chunk in page["supporting_chunks"]
    ]
    return list(dict.fromkeys(names(hits)))


class TestEverySearchOfPassages:
    @pytest.fixture
    def written(self, db, embedder, store):
        build = make_build(
            "plain", questions={"count": 1}, page_summaries=True, artifact_summaries=True
        )
        crane = give(CRANE, title="Crane", external_id="crane")
        write_all(build, *add_tariffs(1, 2, 3), crane)

    @pytest.mark.parametrize("kind", SEARCHES)
    def test_shows_the_newest_version(self, written, kind):
        assert set(find_documents(kind)) == {"tariff-v3.txt", "crane"}

    @pytest.mark.parametrize("kind", SEARCHES)
    def test_shows_all_versions_where_that_is_asked_for(self, written, kind):
        assert len(find_documents(kind, versions="all", limit=10)) == 4
