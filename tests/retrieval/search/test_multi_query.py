import numpy as np
import pytest

from access.grants import EVERYTHING
from core.exceptions import InvalidInput, UnknownIndex
from indexing.models import Index, Node
from indexing.stores import get_store
from retrieval.search import (
    SearchOptions,
    StaleHitPolicy,
    Verdict,
)
from retrieval.search.multi_query import search_by_queries
from tests.factories import PARAGRAPHS, change_search, give, sync
from tests.retrieval.search.asking import SearchRequest, search_chunks
from tests.written import make_build, write_all

QUERIES = ["the heron waits for fish", "yeast in the dough", "granite crystals"]


def ask(*queries, index="plain", **given):
    return search_by_queries(index, queries or QUERIES, SearchOptions(**given), EVERYTHING)


@pytest.fixture
def notes(build):
    """One document per paragraph."""
    artifacts = [give(text, title=f"Note {n}") for n, text in enumerate(PARAGRAPHS)]
    sync(build, *artifacts)
    return artifacts


class TestSearchByQueries:
    def test_returns_one_ranking_per_query_in_order(self, notes):
        rankings = ask().rankings

        best = [ranking[0].payload["artifact_id"] for ranking in rankings]
        assert best == [str(notes[n].pk) for n in (0, 3, 1)]

    def test_ranks_like_a_hybrid_search(self, notes):
        alone = search_chunks(SearchRequest(indexes=["plain"], query=QUERIES[0], explain=True))

        [ranking] = ask(QUERIES[0]).rankings

        assert [each.node_id for each in ranking] == [hit.node_id for hit in alone.hits]
        assert [each.score for each in ranking] == pytest.approx(
            [hit.score for hit in alone.hits], abs=1e-6
        )
        assert [
            (each.explanation.dense.rank, each.explanation.sparse and 1) for each in ranking
        ] == [(hit.explanation.dense.rank, hit.explanation.sparse and 1) for hit in alone.hits]

    def test_embeds_once_and_asks_the_store_once(self, notes, embedder, monkeypatch):
        batches, requests = [], []
        embed, search = embedder.embed_queries, get_store().search_many
        monkeypatch.setattr(
            embedder, "embed_queries", lambda texts: batches.append(texts) or embed(texts)
        )
        monkeypatch.setattr(
            get_store(), "search_many", lambda asked: requests.append(asked) or search(asked)
        )

        ask()

        assert batches == [QUERIES]
        [asked] = requests
        assert len(asked) == 2 * len(QUERIES)

    def test_returns_the_exact_similarity_of_hits_found_by_words_only(self, notes, embedder):
        index = Index.objects.get(name="plain")
        change_search(index.live_build, dense_weight=0)

        [ranking] = ask("granite crystals").rankings

        [wanted] = embedder.embed_queries(["granite crystals"])
        assert [each.explanation.dense for each in ranking] == [None] * len(ranking)
        for each in ranking:
            stored = get_store().retrieve(
                index.live_build.collection("chunk"), [each.node_id], with_vectors=True
            )[each.node_id]
            assert each.similarity == pytest.approx(float(np.dot(wanted, stored.dense)), abs=1e-5)

    def test_respects_its_filter(self, notes):
        only = {"artifact_id": str(notes[2].pk)}

        for ranking in ask(filter=only).rankings:
            assert {each.payload["artifact_id"] for each in ranking} <= {str(notes[2].pk)}

    def test_returns_at_most_the_limit_for_each_query(self, notes):
        assert [len(ranking) for ranking in ask(limit=2).rankings] == [2, 2, 2]

    def test_flags_stale_hits_and_names_their_artifacts(self, notes):
        notes[0].sources.update(text="Basalt.")

        answer = ask()

        verdicts = {
            each.payload["artifact_id"]: each.verdict
            for ranking in answer.rankings
            for each in ranking
        }
        assert verdicts[str(notes[0].pk)] == Verdict.STALE
        assert verdicts[str(notes[1].pk)] == Verdict.EXACT
        assert answer.stale_ids == [notes[0].pk]

    def test_fills_the_places_of_omitted_hits(self, notes):
        notes[0].sources.update(text="Basalt.")

        [ranking] = ask(QUERIES[0], limit=3, stale=StaleHitPolicy.OMIT).rankings

        assert len(ranking) == 3
        assert str(notes[0].pk) not in {each.payload["artifact_id"] for each in ranking}

    def test_drops_hits_without_a_row(self, notes):
        Node.objects.filter(artifact=notes[0].pk).delete()

        answer = ask()

        assert answer.dropped.orphans == 1
        assert str(notes[0].pk) not in {
            each.payload["artifact_id"] for ranking in answer.rankings for each in ranking
        }

    def test_uses_the_best_question_of_each_chunk_if_chunks_are_not_embedded(
        self, db, store, embedder
    ):
        hyde = make_build("hyde", chunks={"embed": False}, questions={"count": 2})
        artifacts = [give(text, index="hyde") for text in PARAGRAPHS]
        write_all(hyde, *artifacts, count=2)

        for ranking in ask(index="hyde").rankings:
            chunks = [each.passage_id for each in ranking]
            assert len(chunks) == len(set(chunks)) == len(PARAGRAPHS)

    def test_finds_nothing_without_a_live_build(self, build):
        Index.objects.create(name="empty")

        answer = ask(index="empty")

        assert answer.rankings == [[], [], []]
        assert answer.builds == {"empty": None}

    @pytest.mark.parametrize("queries", [[], ["a"] * 11, ["a", "  "]])
    def test_refuses_no_queries_too_many_or_empty_ones(self, build, queries):
        with pytest.raises(InvalidInput):
            search_by_queries("plain", queries, SearchOptions(), EVERYTHING)

    def test_names_the_existing_indexes(self, build):
        with pytest.raises(UnknownIndex) as caught:
            ask(index="atlantis")

        assert "plain" in caught.value.allowed
