"""Searches for chunks of one index; for several see ``test_merging``.

The documents of ``notes``, ``stone`` and ``twins`` are indexed once for all tests. A test that adds
others adds them to ``own``.
"""

import logging
import uuid
from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Artifact, Source
from documents.services import TextContent, replace_content
from indexing.exceptions import StoreUnavailable
from indexing.models import Index, IndexBuild, Node
from indexing.stores import Point, get_store
from retrieval.search import Mode, StaleHitPolicy, Verdict
from tests.factories import change_search, give, load_index, sync
from tests.retrieval.search.asking import SearchRequest, search_chunks
from tests.written import make_build

SENTENCES = [f"The {bird} number {n} nests near water." for n, bird in enumerate(["heron"] * 30)]

# The points of a test stay in the store, so that no two tests may have an index of the same name.
_numbers = count()

pytestmark = pytest.mark.django_db


def ask(query="heron nests", *, index="plain", **given):
    return search_chunks(SearchRequest(indexes=[index], query=query, **given))


def ids(answer):
    return [hit.node_id for hit in answer.hits]


@pytest.fixture(scope="module")
def build(shared_store) -> IndexBuild:
    return load_index("plain")


@pytest.fixture
def own(shared_store) -> IndexBuild:
    """An empty index of the test."""
    return make_build(f"own-{next(_numbers)}")


@pytest.fixture(scope="module")
def notes(build) -> list[Artifact]:
    """Thirty artifacts of one chunk each, all about herons."""
    artifacts = [give(text, title=f"Note {n}") for n, text in enumerate(SENTENCES)]
    sync(build, *artifacts)
    return artifacts


@pytest.fixture(scope="module")
def stone(shared_store) -> IndexBuild:
    """An index of a single chunk."""
    stone = make_build("stone")
    write_stone(stone)
    return stone


@pytest.fixture(scope="module")
def twins(shared_store) -> IndexBuild:
    """An index of many equal texts, so that both rankings have many ties."""
    twins = make_build("twins")
    texts = ["The heron nests near water."] * 8 + ["A heron waits.", "Granite cools slowly."] * 4
    sync(twins, *[give(text, index="twins", external_id=str(n)) for n, text in enumerate(texts)])
    return twins


def write_stone(build: IndexBuild) -> Node:
    sync(build, give("Granite cools slowly under the ground.", index=build.index_id))
    return Node.objects.get(build=build)


class TestSearchChunks:
    @pytest.mark.parametrize(
        ("mode", "score_kind"),
        [(Mode.HYBRID, "rrf"), (Mode.DENSE, "cosine"), (Mode.SPARSE, "bm25")],
    )
    def test_finds_the_text_with_the_words(self, own, mode, score_kind):
        name = own.index_id
        wanted = give("Granite cools slowly.", index=name)
        sync(own, wanted, give("Yeast breathes in the dough.", index=name))

        answer = ask("granite cools", index=name, mode=mode)

        assert answer.hits[0].payload["artifact_id"] == str(wanted.pk)
        assert answer.hits[0].verdict == Verdict.EXACT
        assert answer.score_kind == score_kind
        assert answer.builds == {name: own.number}

    def test_asks_the_store_once(self, notes, monkeypatch):
        asked = []
        real = get_store().search_many
        monkeypatch.setattr(
            get_store(), "search_many", lambda requests: asked.append(requests) or real(requests)
        )

        ask()

        [[(_, query)]] = asked
        assert query.fusion.k == 60
        assert query.fusion.prefetch == 100

    def test_asks_the_database_twice(self, notes):
        ask()  # the first search validates and caches the recipe

        with CaptureQueriesContext(connection) as queries:
            ask()

        assert len(queries) == 2  # index and build; rows and sources

    def test_does_not_read_rows_without_verification(self, notes):
        with CaptureQueriesContext(connection) as queries:
            answer = ask(verify=False)

        assert len(queries) == 1  # index and build
        assert {hit.verdict for hit in answer.hits} == {None}

    def test_returns_pages_without_overlaps_or_gaps(self, notes):
        whole = ids(ask(limit=30))

        pages = [ids(ask(limit=7, offset=offset)) for offset in range(0, 35, 7)]

        assert [each for page in pages for each in page] == whole
        assert len(set(whole)) == 30

    def test_fills_the_page_if_hits_are_dropped(self, build, notes):
        deleting = ids(ask(limit=10))[::2]
        Node.objects.filter(point_id__in=deleting).delete()

        answer = ask(limit=20)

        assert len(answer.hits) == 20
        assert not set(deleting) & set(ids(answer))
        assert answer.dropped.orphans == 5

    def test_finds_nothing_in_an_empty_index(self, own):
        assert ask(index=own.index_id).hits == []

    def test_finds_nothing_in_an_index_without_a_live_build(self, build, notes):
        Index.objects.filter(name="plain").update(live_build=None)

        answer = ask()

        assert answer.hits == []
        assert answer.builds == {"plain": None}

    def test_searches_a_build_that_is_not_live(self, build, notes):
        Index.objects.filter(name="plain").update(live_build=None)

        assert len(ask(index=build).hits) == 10

    def test_respects_a_filter(self, notes):
        chosen = str(notes[3].pk)

        answer = ask(filter={"artifact_id": chosen})

        assert [hit.payload["artifact_id"] for hit in answer.hits] == [chosen]

    def test_respects_a_minimum_score(self, notes):
        scores = [hit.score for hit in ask(limit=30).hits]

        answer = ask(limit=30, min_score=scores[11])

        assert [hit.score for hit in answer.hits] == [s for s in scores if s >= scores[11]]

    def test_ranks_by_similarity_if_the_query_has_no_terms(self, notes):
        answer = ask("?!", limit=3)

        assert len(answer.hits) == 3
        assert answer.hits[0].score == pytest.approx(1 / 61)
        assert ask("?!", mode=Mode.SPARSE).hits == []

    def test_answers_the_same_twice(self, notes):
        assert ids(ask()) == ids(ask())

    def test_returns_the_time_of_each_stage(self, notes):
        took = ask().took_ms

        assert took.keys() == {"embed", "search", "verify", "total"}
        assert took["total"] >= took["embed"] + took["search"] + took["verify"]

    def test_raises_the_error_of_an_unavailable_store(self, notes, monkeypatch):
        def refuse(*args):
            raise StoreUnavailable

        monkeypatch.setattr(get_store(), "search_many", refuse)

        with pytest.raises(StoreUnavailable):
            ask()

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"query": " "}, "query"),
            ({"query": "x" * 10_001}, "query"),
            ({"query": "half \ud800"}, "query"),
            ({"limit": 0}, "limit"),
            ({"limit": 101}, "limit"),
            ({"offset": -1}, "offset"),
            ({"offset": 1_001}, "offset"),
            ({"min_score": float("nan")}, "min_score"),
            ({"filter": {"yaer": 1}}, "filter.yaer"),
        ],
    )
    def test_refuses_wrong_parameters(self, build, given, field):
        with pytest.raises(InvalidInput) as refused:
            ask(**given)

        assert refused.value.field == field

    def test_names_the_existing_indexes(self, build):
        with pytest.raises(UnknownIndex) as refused:
            ask(index="plian")

        assert "plain" in refused.value.allowed


class TestHitCheck:
    @pytest.fixture
    def node(self, stone) -> Node:
        return Node.objects.get(build=stone)

    def ask(self, *, index="stone", **given):
        return ask("granite", index=index, **given)

    def test_flags_a_hit_whose_source_changed_without_a_signal(self, node):
        Source.objects.update(text="Basalt cools fast. Granite cools slowly under the ground.")

        answer = self.ask()

        assert [hit.verdict for hit in answer.hits] == [Verdict.STALE]
        assert answer.stale_ids == [node.artifact_id]

    def test_omits_stale_hits_on_request(self, node):
        Source.objects.update(text="Basalt cools fast.")

        answer = self.ask(stale=StaleHitPolicy.OMIT)

        assert answer.hits == []
        assert answer.stale_ids == [node.artifact_id]

    def test_flags_a_hit_whose_source_is_gone(self, node):
        Source.objects.all().delete()

        assert [hit.verdict for hit in self.ask().hits] == [Verdict.STALE]

    def test_flags_the_old_text_of_a_document_until_the_new_is_synced(self, own):
        node = write_stone(own)
        replace_content(node.artifact_id, TextContent(("Granite cools very slowly indeed.",)))

        before = self.ask(index=own.index_id).hits
        sync(own, node.artifact)
        after = self.ask(index=own.index_id).hits

        assert [(hit.node_id, hit.verdict) for hit in before] == [(node.point_id, Verdict.STALE)]
        assert [hit.verdict for hit in after] == [Verdict.EXACT]
        assert after[0].payload["text"] == "Granite cools very slowly indeed."

    def test_flags_a_deleting_row_whose_source_changed(self, node):
        Node.objects.update(state=Node.State.DELETING)
        Source.objects.update(text="Basalt.")

        assert [hit.verdict for hit in self.ask().hits] == [Verdict.STALE]

    def test_drops_a_hit_without_a_row(self, node):
        Node.objects.all().delete()

        answer = self.ask()

        assert answer.hits == []
        assert answer.dropped.orphans == 1

    def test_drops_a_hit_whose_artifact_is_gone(self, node):
        Artifact.objects.get(pk=node.artifact_id).delete()

        answer = self.ask()

        assert answer.hits == []
        assert answer.dropped.orphans == 1

    @pytest.mark.parametrize(
        "changes",
        [
            {"text": "Granite cools quickly under the ground."},
            {"start_offset": 1},
            {"end_offset": 5},
            {"start_offset": None},
            {"source_id": "nonsense"},
            {"source_id": None},
            {"text_hash": "0" * 64},
        ],
    )
    def test_drops_counts_and_reports_a_hit_whose_text_is_not_in_its_source(
        self, stone, node, rewrite_payload, changes, caplog
    ):
        rewrite_payload(stone, node, **changes)

        with caplog.at_level(logging.ERROR, logger="retrieval.search"):
            answer = self.ask()

        assert answer.hits == []
        assert answer.dropped.integrity_errors == 1
        assert str(node.point_id) in caplog.text

    def test_ignores_a_null_hash(self, stone, node, rewrite_payload):
        rewrite_payload(stone, node, text_hash=None, source_hash=None)

        assert [hit.verdict for hit in self.ask().hits] == [Verdict.EXACT]

    def test_flags_a_text_that_moved_under_a_null_hash(self, stone, node, rewrite_payload):
        rewrite_payload(stone, node, text_hash=None, source_hash=None)
        Source.objects.update(text="Now: Granite cools slowly under the ground.")

        assert [hit.verdict for hit in self.ask().hits] == [Verdict.STALE]

    def test_counts_characters_as_code_points(self, own):
        text = "🪨🪨 e\u0301 first.\r\n\r\n" + "Granite cools. " * 60
        sync(own, give(text, index=own.index_id))

        hits = ask("granite cools", index=own.index_id, limit=50).hits

        assert len(hits) > 1
        assert {hit.verdict for hit in hits} == {Verdict.EXACT}

    def test_drops_a_point_without_a_node(self, own, embedder):
        node = write_stone(own)
        stranger = Point(uuid.uuid4(), embedder.embed_query("granite"), None, {"text": "granite"})
        get_store().upsert(own.collection("chunk"), [stranger])

        answer = self.ask(index=own.index_id)

        assert ids(answer) == [node.point_id]
        assert answer.dropped.orphans == 1


class TestExplain:
    @pytest.mark.parametrize(("dense", "sparse"), [(1.0, 1.0), (2.0, 0.5), (0.0, 1.0), (1.0, 0.0)])
    def test_adds_up_to_the_score_despite_ties(self, twins, dense, sparse):
        build = IndexBuild.objects.get(pk=twins.pk)  # others read the unchanged one
        change_search(build, dense_weight=dense, sparse_weight=sparse, prefetch=5)

        hits = ask("heron nests", index="twins", limit=20, explain=True).hits

        assert hits
        for hit in hits:
            shares = [hit.explanation.dense, hit.explanation.sparse]
            total = sum(share.contribution for share in shares if share)
            assert total == pytest.approx(hit.score, abs=1e-6)
            assert all(share.rank <= 5 for share in shares if share)

    @pytest.mark.parametrize("mode", [Mode.DENSE, Mode.SPARSE])
    def test_returns_the_rank_of_a_single_ranking(self, notes, mode):
        hits = ask(mode=mode, offset=3, limit=2, explain=True).hits

        shares = [getattr(hit.explanation, mode) for hit in hits]
        assert [share.rank for share in shares] == [4, 5]
        assert [share.contribution for share in shares] == [hit.score for hit in hits]

    def test_is_left_out_by_default(self, notes):
        assert {hit.explanation for hit in ask().hits} == {None}
