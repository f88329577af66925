"""Summaries and questions: the same search as for chunks, each with its own check.

The documents of ``notes`` and ``many`` are indexed once for all tests. A test that adds others adds
them to ``own``.
"""

import logging
from dataclasses import replace
from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.exceptions import InvalidInput
from documents.models import Artifact, Page, Source
from documents.services import TextContent, add_artifact
from indexing.models import IndexBuild, Node
from indexing.stores import Query, get_store
from retrieval.ledger import read_summary_rows
from retrieval.search import (
    Mode,
    StaleHitPolicy,
    SummaryType,
    Verdict,
)
from summaries.models import Summary
from tests.factories import PARAGRAPHS, give, sync
from tests.retrieval.search.asking import (
    SearchRequest,
    search_chunks,
    search_questions,
    search_summaries,
)
from tests.written import ALL_KINDS, make_build, question, write_all, write_summary

FIELDS = {
    "topics": {"type": "keyword", "many": True, "values": ["birds", "stones"]},
    "year": {"type": "integer"},
}

ONLY_QUESTIONS = {"chunks": {"embed": False}, "questions": {"count": 3}, "metadata": FIELDS}

# The points of a test stay in the store, so that no two tests may have an index of the same name.
_numbers = count()


def request(query="granite crystals", *, index="full", **given):
    return SearchRequest(indexes=[index], query=query, **given)


def ids(answer):
    return [hit.node_id for hit in answer.hits]


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def full(shared_store) -> IndexBuild:
    """An index that holds every kind of node."""
    return make_build("full", metadata=FIELDS, **ALL_KINDS)


@pytest.fixture(scope="module")
def notes(full) -> Artifact:
    return write_notes(full)


@pytest.fixture(scope="module")
def many(shared_store) -> IndexBuild:
    """Thirty artifacts of one chunk and three questions each, all about herons, in an index whose
    chunks are found by their questions only. Their lengths differ, because otherwise all would have
    the same score."""
    hyde = make_build("hyde", **ONLY_QUESTIONS)
    artifacts = [
        give(f"Heron number {n} nests near water{' and reed' * n}.", index="hyde")
        for n in range(30)
    ]
    write_all(hyde, *artifacts)
    return hyde


@pytest.fixture
def own(shared_store) -> IndexBuild:
    """An empty index of the test, for every kind of node."""
    return make_build(f"own-{next(_numbers)}", metadata=FIELDS, **ALL_KINDS)


@pytest.fixture
def hyde(shared_store) -> IndexBuild:
    """An empty index of the test, whose chunks are found by their questions only."""
    return make_build(f"hyde-{next(_numbers)}", **ONLY_QUESTIONS)


def write_notes(build: IndexBuild) -> Artifact:
    """Four pages, each with its summary and its questions."""
    artifact, _ = add_artifact(
        build.index_id, TextContent(tuple(PARAGRAPHS)), title="Notes", metadata={"year": 2019}
    )
    write_all(build, artifact)
    return artifact


class TestSearchSummaries:
    @pytest.mark.parametrize(
        ("mode", "score_kind"),
        [(Mode.HYBRID, "rrf"), (Mode.DENSE, "cosine"), (Mode.SPARSE, "bm25")],
    )
    def test_finds_the_matching_page(self, notes, full, mode, score_kind):
        answer = search_summaries(request(mode=mode), SummaryType.PAGE)

        [best, *_] = answer.hits
        page = notes.pages.get(index=1)
        assert best.node_id == page.pk
        assert best.payload["summary_text"].startswith("Summary: Granite cools slowly")
        assert best.verdict == Verdict.EXACT
        assert answer.score_kind == score_kind
        assert answer.builds == {"full": full.number}

    @pytest.mark.parametrize(
        ("type", "kinds"),
        [
            (SummaryType.PAGE, ["page_summary"] * 4),
            (SummaryType.ARTIFACT, ["artifact_summary"]),
            (SummaryType.ALL, ["artifact_summary"] + ["page_summary"] * 4),
        ],
    )
    def test_returns_only_the_requested_type(self, notes, type, kinds):
        answer = search_summaries(request(), type)

        assert sorted(hit.payload["kind"] for hit in answer.hits) == kinds

    def test_respects_a_filter_and_a_type(self, own):
        write_notes(own)
        name = own.index_id
        other = give("Granite crystals of another note.", index=name, metadata={"year": 2021})
        write_all(own, other)

        asked = request(index=name, filter={"year": {"gte": 2020}})
        answer = search_summaries(asked, SummaryType.PAGE)

        assert ids(answer) == [other.pages.get().pk]

    def test_returns_pages_without_gaps_if_hits_are_dropped(self, notes):
        whole = ids(search_summaries(request()))
        Node.objects.filter(point_id=whole[1]).delete()

        pages = [ids(search_summaries(request(limit=2, offset=n))) for n in (0, 2, 4)]

        assert [each for page in pages for each in page] == [whole[0], *whole[2:]]

    def test_takes_two_database_queries_for_any_number_of_hits(self, own):
        name = own.index_id
        write_all(own, *[give(f"Granite number {n}.", index=name) for n in range(20)])
        search_summaries(request(index=name))

        with CaptureQueriesContext(connection) as queries:
            answer = search_summaries(request(index=name, limit=40))

        assert len(answer.hits) == 40
        assert len(queries) == 2  # index and build; rows, pages and summaries

    def test_explains_scores_that_add_up(self, notes):
        for hit in search_summaries(request(explain=True), SummaryType.PAGE).hits:
            shares = [hit.explanation.dense, hit.explanation.sparse]
            total = sum(share.contribution for share in shares if share)
            assert total == pytest.approx(hit.score, abs=1e-6)

    def test_names_the_indexes_that_have_summaries(self, notes):
        make_build("plain")

        with pytest.raises(InvalidInput, match="plain holds no page summaries") as refused:
            search_summaries(request(index="plain"))

        assert refused.value.field == "index"
        assert "full" in refused.value.allowed
        assert "plain" not in refused.value.allowed

    def test_names_the_indexes_that_have_the_requested_type(self, notes):
        make_build("pages-only", page_summaries=True)

        assert search_summaries(request(index="pages-only")).hits == []
        with pytest.raises(InvalidInput, match="pages-only holds no artifact summaries") as refused:
            search_summaries(request(index="pages-only"), SummaryType.ARTIFACT)
        assert refused.value.allowed == ["full"]


class TestHitCheckOfSummaries:
    def verdicts(self, type=SummaryType.ALL, **given):
        answer = search_summaries(request(**given), type)
        return {
            (hit.payload["kind"], hit.payload["page_index"]): hit.verdict for hit in answer.hits
        }

    def test_flags_pages_edited_without_a_signal(self, notes):
        notes.pages.filter(index=1).update(text="Basalt cools fast.")

        answer = search_summaries(request())

        verdicts = {hit.node_id: hit.verdict for hit in answer.hits}
        edited = notes.pages.get(index=1)
        assert verdicts.pop(edited.pk) == Verdict.STALE
        assert set(verdicts.values()) == {Verdict.EXACT}
        assert answer.stale_ids == [notes.pk]

    def test_flags_the_artifact_of_a_changed_page(self, notes):
        page = notes.pages.get(index=1)
        page.text = "Basalt cools fast."
        page.save()

        verdicts = self.verdicts()

        assert verdicts["page_summary", 1] == Verdict.STALE
        assert verdicts["artifact_summary", None] == Verdict.STALE
        assert verdicts["page_summary", 0] == Verdict.EXACT

    def test_omits_stale_hits_on_request(self, notes):
        notes.pages.filter(index=1).update(text="Basalt cools fast.")

        answer = search_summaries(request(stale=StaleHitPolicy.OMIT))

        assert notes.pages.get(index=1).pk not in ids(answer)
        assert len(answer.hits) == 4

    def test_flags_a_summary_whose_page_is_gone(self, notes):
        notes.pages.filter(index=1).delete()

        assert self.verdicts()["page_summary", 1] == Verdict.STALE

    def test_flags_an_artifact_with_a_page_without_summary(self, notes):
        Page.objects.create(artifact=notes, index=4, text="A fifth page.")

        assert self.verdicts()["artifact_summary", None] == Verdict.STALE

    def test_ignores_pages_without_text(self, notes):
        Page.objects.create(artifact=notes, index=4, text="")

        assert self.verdicts()["artifact_summary", None] == Verdict.EXACT

    def test_flags_an_artifact_whose_page_summaries_have_changed(self, notes):
        Summary.objects.of_artifacts().update(input_hash="0" * 64)

        assert self.verdicts()["artifact_summary", None] == Verdict.STALE

    def test_flags_an_artifact_whose_summary_is_gone(self, notes):
        Summary.objects.of_artifacts().delete()

        assert self.verdicts()["artifact_summary", None] == Verdict.STALE

    def test_flags_artifacts_with_outdated_page_summaries(self, own):
        notes = write_notes(own)
        others = [give(f"Granite number {n}.", index=own.index_id) for n in range(4)]
        write_all(own, *others)
        others[0].pages.update(content_hash=None)
        Page.objects.create(artifact=others[1], index=1, text="More.")
        write_summary(own, others[2], "By hand.", page=others[2].pages.get(), input_hash="0" * 64)
        everyone = [notes, *others]

        rows = read_summary_rows([own.pk], [artifact.pk for artifact in everyone])

        assert {row.artifact_id for row in rows if row.is_outdated} == {
            others[0].pk, others[1].pk, others[2].pk
        }  # fmt: skip

    @pytest.mark.parametrize(
        "changes",
        [
            {"summary_text": "Granite cools quickly."},
            {"summary_text": None},
            {"text_hash": "0" * 64},
            {"kind": "artifact_summary"},
        ],
    )
    def test_drops_counts_and_reports_a_hit_with_a_wrong_text(
        self, notes, full, rewrite_payload, changes, caplog
    ):
        node = Node.objects.get(kind="page_summary", page__index=1)
        rewrite_payload(full, node, **changes)

        with caplog.at_level(logging.ERROR, logger="retrieval.search"):
            answer = search_summaries(request())

        assert node.point_id not in ids(answer)
        assert answer.dropped.integrity_errors == 1
        assert str(node.point_id) in caplog.text

    def test_ignores_a_null_hash(self, notes, full, rewrite_payload):
        node = Node.objects.get(kind="page_summary", page__index=1)
        rewrite_payload(full, node, text_hash=None, source_hash=None)

        assert self.verdicts()["page_summary", 1] == Verdict.EXACT

    def test_drops_the_summaries_of_a_deleted_document(self, notes):
        Artifact.objects.get(pk=notes.pk).delete()

        answer = search_summaries(request())

        assert answer.hits == []
        assert answer.dropped.orphans == 5

    def test_is_skipped_without_verification(self, notes):
        notes.pages.update(text="Basalt cools fast.")

        assert set(self.verdicts(verify=False).values()) == {None}


class TestSearchQuestions:
    def test_returns_the_chunk_with_its_best_question(self, notes):
        answer = search_questions(request("why is it so that granite cools slowly"))

        [best, *_] = answer.hits
        assert best.payload["question"].startswith("Why is it so that Granite")
        assert best.payload["chunk_text"].startswith("Granite cools slowly")
        assert best.verdict == Verdict.EXACT

    @pytest.mark.parametrize("mode", list(Mode))
    def test_returns_each_chunk_once(self, many, mode):
        answer = search_questions(request("heron nests", index="hyde", mode=mode, limit=100))

        chunks = [hit.payload["chunk_id"] for hit in answer.hits]
        assert len(chunks) == len(set(chunks)) == 30

    @pytest.mark.parametrize("verify", [True, False])
    @pytest.mark.parametrize("mode", list(Mode))
    def test_returns_pages_of_distinct_chunks(self, many, mode, verify):
        asked = request("heron nests", index="hyde", mode=mode, limit=30, verify=verify)
        whole = search_questions(asked)

        pages = [
            search_questions(replace(asked, limit=7, offset=offset)) for offset in range(0, 35, 7)
        ]

        assert [len(page.hits) for page in pages] == [7, 7, 7, 7, 2]
        assert [each for page in pages for each in ids(page)] == ids(whole)
        scores = [hit.score for hit in whole.hits]
        assert scores == sorted(scores, reverse=True)

    def test_keeps_the_highest_score_of_each_chunk(self, many, embedder):
        answer = search_questions(request("why heron", index="hyde", mode=Mode.DENSE, limit=30))

        best = {}
        query = Query(dense=embedder.embed_query("why heron"), limit=1_000)
        for point in get_store().search(many.collection("question"), query):
            best.setdefault(point.payload["chunk_id"], point.score)
        assert {hit.payload["chunk_id"]: hit.score for hit in answer.hits} == best

    def test_uses_the_next_question_of_a_chunk_if_the_best_is_dropped(self, many):
        asked = request("why is it so that heron number 3 nests", index="hyde", limit=30)
        before = search_questions(asked).hits
        Node.objects.filter(point_id=before[0].node_id).delete()

        after = search_questions(asked)

        chunks = {hit.payload["chunk_id"]: hit for hit in after.hits}
        assert len(chunks) == 30
        assert chunks[before[0].payload["chunk_id"]].node_id != before[0].node_id
        assert after.dropped.orphans == 1

    def test_finds_other_chunks_if_one_has_all_the_best_questions(self, hyde):
        chatty, *others = [
            give(f"Heron number {n} nests near water.", index=hyde.index_id) for n in range(6)
        ]
        [annotation] = question(hyde, chatty)
        annotation.questions = [f"Heron {'heron ' * n}heron?" for n in range(300)]
        annotation.save()
        for other in others:
            question(hyde, other)
        sync(hyde, chatty, *others)

        answer = search_questions(request("heron", index=hyde.index_id, mode=Mode.DENSE, limit=6))

        assert len(answer.hits) == 6
        assert answer.hits[0].payload["artifact_id"] == str(chatty.pk)

    def test_filters_by_fields_of_the_chunk(self, hyde):
        bird, stone = (
            give("A heron.", index=hyde.index_id),
            give("A granite rock.", index=hyde.index_id),
        )
        write_all(hyde, bird, fields={"topics": ["birds"]})
        write_all(hyde, stone, fields={"topics": ["stones"]})

        answer = search_questions(request("a", index=hyde.index_id, filter={"topics": "stones"}))

        assert {hit.payload["artifact_id"] for hit in answer.hits} == {str(stone.pk)}
        with pytest.raises(InvalidInput) as refused:
            search_questions(request(index=hyde.index_id, filter={"topics": "fish"}))
        assert refused.value.allowed == ["birds", "stones"]

    def test_explains_scores_that_add_up(self, many):
        hits = search_questions(request("heron nests", index="hyde", explain=True)).hits

        assert hits
        for hit in hits:
            shares = [hit.explanation.dense, hit.explanation.sparse]
            total = sum(share.contribution for share in shares if share)
            assert total == pytest.approx(hit.score, abs=1e-6)

    def test_merges_indexes_and_embeds_the_query_once(self, many, notes, embedder, monkeypatch):
        embedded = []
        real = embedder.embed_query
        monkeypatch.setattr(
            embedder, "embed_query", lambda text: embedded.append(text) or real(text)
        )
        asked = SearchRequest(indexes=["hyde", "full"], query="heron stands near", limit=34)

        whole = search_questions(asked)
        pages = [search_questions(replace(asked, limit=5, offset=n)) for n in range(0, 35, 5)]

        assert {hit.index for hit in whole.hits} == {"hyde", "full"}
        assert len(whole.hits) == 34
        assert [each for page in pages for each in ids(page)] == ids(whole)
        assert embedded == ["heron stands near"] * 8

    def test_names_the_indexes_that_have_questions(self, many):
        make_build("plain")
        asked = SearchRequest(indexes=["hyde", "plain"], query="heron")

        with pytest.raises(InvalidInput, match="plain holds no questions") as refused:
            search_questions(asked)

        assert "hyde" in refused.value.allowed
        assert "plain" not in refused.value.allowed

    def test_refuses_a_chunk_search_of_an_index_without_chunks(self, many):
        with pytest.raises(InvalidInput, match="hyde holds no chunks") as refused:
            search_chunks(request(index="hyde"))

        assert "hyde" not in refused.value.allowed


class TestHitCheckOfQuestions:
    @pytest.fixture
    def node(self, notes):
        return Node.objects.filter(kind="question", text__startswith="Why is it so that Gran").get()

    def ask(self):
        return search_questions(request("why is it so that granite cools slowly"))

    def test_flags_a_chunk_whose_source_changed_without_a_signal(self, notes, node):
        Source.objects.filter(pk=node.source_id).update(text="Basalt cools fast.")

        answer = self.ask()

        assert answer.hits[0].verdict == Verdict.STALE
        assert answer.stale_ids == [notes.pk]

    def test_flags_a_chunk_whose_source_is_gone(self, node):
        Source.objects.filter(pk=node.source_id).delete()

        assert self.ask().hits[0].verdict == Verdict.STALE

    @pytest.mark.parametrize(
        "changes",
        [
            {"chunk_text": "Granite cools quickly under the ground."},
            {"chunk_text": None},
            {"chunk_hash": "0" * 64},
            {"start_offset": 1},
            {"end_offset": None},
            {"source_id": "nonsense"},
            {"source_id": 7},
        ],
    )
    def test_drops_counts_and_reports_a_hit_whose_text_is_not_in_its_source(
        self, full, node, rewrite_payload, changes, caplog
    ):
        rewrite_payload(full, node, **changes)

        with caplog.at_level(logging.ERROR, logger="retrieval.search"):
            answer = self.ask()

        assert node.point_id not in ids(answer)
        assert answer.dropped.integrity_errors == 1
        assert str(node.point_id) in caplog.text

    def test_drops_the_questions_of_a_deleted_document(self, notes):
        Artifact.objects.get(pk=notes.pk).delete()

        answer = self.ask()

        assert answer.hits == []
        assert answer.dropped.orphans >= 12
