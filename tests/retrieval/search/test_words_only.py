"""Searches while the endpoint of the embedding model fails."""

import pytest

from access.grants import EVERYTHING
from answers.asking import AskRequest
from answers.pipelines.running import find_hits
from evaluation.systems import make_system
from indexing import embedding
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from retrieval.all_searches import run_search
from retrieval.retrievers import ChunkRetriever, HierarchicalRetriever
from retrieval.search import Mode
from tests.factories import give, load_index, sync
from tests.written import make_build

OPENAI = {"provider": "openai", "model": "acme-embed"}
NOTE = "Found by words only: the endpoint of the embedding model acme-embed failed."

pytestmark = pytest.mark.django_db


@pytest.fixture
def remote(store, embedder):
    """An index by an endpoint, indexed before that fails."""
    build = make_build("remote", embedding=OPENAI, page_summaries=True)
    granite = give("Granite cools slowly.", index="remote", title="Stone")
    sync(build, granite, give("Yeast breathes in the dough.", index="remote"))
    return build


@pytest.fixture(params=[EmbeddingUnavailable, ModelUnavailable])
def failing(remote, request, monkeypatch):
    """Every text is refused or not answered; models on this machine work."""
    working = embedding.get_embedder

    def get_embedder(spec):
        if spec.provider == "openai":
            raise request.param("the endpoint does not answer")
        return working(spec)

    monkeypatch.setattr(embedding, "get_embedder", get_embedder)
    return remote


class TestWordsOnly:
    def test_a_hybrid_search_finds_the_words_and_says_why(self, failing):
        answer = run_search(
            "pages", {"index": "remote", "query": "granite cools", "explain": True}, EVERYTHING
        ).content

        [hit] = answer["hits"]
        assert (hit["text"], hit["score_kind"]) == ("Granite cools slowly.", "rrf")
        assert answer["notes"] == [NOTE]
        assert hit["explain"]["dense"] is None

    def test_a_hierarchical_search_does_too(self, failing):
        answer = HierarchicalRetriever("remote").search("granite cools")

        assert [each.title for each in answer.artifacts] == ["Stone"]
        assert answer.notes == [NOTE]

    def test_an_index_with_a_working_model_keeps_its_vectors(self, failing, build):
        sync(load_index("plain"), give("Basalt is dark."))

        answer = ChunkRetriever(["remote", "plain"], explain=True).search("granite is")

        dense = {hit.index: hit.explanation.dense for hit in answer.hits}
        assert dense["remote"] is None
        assert dense["plain"].rank == 1
        assert answer.notes == [NOTE]

    def test_a_search_by_vectors_fails(self, failing):
        with pytest.raises((EmbeddingUnavailable, ModelUnavailable), match="does not answer"):
            ChunkRetriever("remote", mode=Mode.DENSE).search("granite cools")

    def test_a_pipeline_lists_what_the_words_find(self, failing):
        found = find_hits(AskRequest(index="remote", query="How does granite cool?"))

        assert [each.hit.payload["text"] for each in found.passages] == ["Granite cools slowly."]
        assert NOTE in found.notes

    @pytest.mark.parametrize("mode", ["hybrid", "hierarchical"])
    def test_nothing_is_measured_by_words_only(self, failing, mode):
        with pytest.raises(EmbeddingUnavailable, match="acme-embed"):
            list(make_system("remote", mode).rank_locations("granite cools"))
