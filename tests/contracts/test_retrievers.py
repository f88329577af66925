"""Promises every retriever keeps. A new retriever joins by one line in RETRIEVERS."""

import asyncio
import threading

import pytest
from llama_index.core.schema import MetadataMode, NodeRelationship, TextNode

from indexing.models import Node
from retrieval.retrievers import ChunkRetriever
from retrieval.search import targets
from tests.factories import PARAGRAPHS, give, settle

RETRIEVERS = {
    "hybrid": lambda build, **given: ChunkRetriever("plain", **given),
    "dense": lambda build, **given: ChunkRetriever("plain", mode="dense", **given),
    "sparse": lambda build, **given: ChunkRetriever("plain", mode="sparse", **given),
    "build": lambda build, **given: ChunkRetriever(build, **given),
}
GRANITE = "\n\n".join(f"Part {n}. {' '.join(PARAGRAPHS[1:])}" for n in range(9))


@pytest.fixture
def artifact(build):
    artifact = give(GRANITE, title="Stones", metadata={"year": 2019})
    settle(build, artifact, give(PARAGRAPHS[0]))
    return artifact


@pytest.fixture(params=RETRIEVERS)
def make(request, build):
    """The retriever under test, over the documents of ``artifact``."""
    return lambda **given: RETRIEVERS[request.param](build, **given)


class TestEveryRetriever:
    def test_returns_at_most_top_k(self, artifact, make):
        assert len(make(top_k=3).retrieve("granite crystals")) == 3

    def test_orders_by_falling_score(self, artifact, make):
        scores = [hit.score for hit in make().retrieve("granite crystals")]

        assert len(scores) > 1
        assert scores == sorted(scores, reverse=True)

    def test_finds_the_document_that_says_it(self, artifact, make):
        [best, *_] = make().retrieve("heron stands in the shallows")

        assert "heron" in best.node.text

    def test_answers_the_same_twice(self, artifact, make):
        first, second = make().retrieve("granite"), make().retrieve("granite")

        assert [hit.node_id for hit in first] == [hit.node_id for hit in second]

    def test_finds_nothing_in_an_empty_index(self, build, make):
        assert make().retrieve("granite") == []

    def test_keeps_to_its_filter(self, artifact, make):
        hits = make(filter={"artifact_id": str(artifact.pk)}).retrieve("the heron and the granite")

        assert {hit.metadata["artifact_id"] for hit in hits} == {str(artifact.pk)}

    def test_gives_nodes_that_name_where_they_stand(self, artifact, make):
        source = artifact.sources.get()

        only = {"artifact_id": str(artifact.pk)}
        for hit in make(filter=only).retrieve("granite crystals"):
            node = hit.node
            assert isinstance(node, TextNode)
            row = Node.objects.get(point_id=node.node_id)
            assert node.text == source.text[node.start_char_idx : node.end_char_idx]
            assert node.ref_doc_id == str(source.pk)
            assert node.parent_node.node_id == str(row.page_id)
            assert node.metadata["verdict"] == "exact"
            assert node.metadata["page_index"] == 0
            assert node.metadata["title"] == "Stones"
            assert node.metadata["year"] == 2019

    def test_links_neighbours(self, artifact, make):
        rows = list(Node.objects.filter(artifact=artifact).order_by("chunk_index"))
        places = {str(row.point_id): number for number, row in enumerate(rows)}
        assert len(rows) > 2

        for hit in make(top_k=100, filter={"artifact_id": str(artifact.pk)}).retrieve("granite"):
            number = places[hit.node_id]
            before = hit.node.relationships.get(NodeRelationship.PREVIOUS)
            after = hit.node.relationships.get(NodeRelationship.NEXT)
            assert (before and places[before.node_id]) == (number - 1 if number else None)
            assert (after and places[after.node_id]) == (
                number + 1 if number + 1 < len(rows) else None
            )

    def test_shows_a_model_the_text_alone(self, artifact, make):
        [best, *_] = make().retrieve("granite crystals")

        assert best.node.get_content(MetadataMode.LLM) == best.node.text
        assert best.node.get_content(MetadataMode.EMBED) == best.node.text

    @pytest.mark.django_db(transaction=True)
    def test_keeps_the_event_loop_free(self, artifact, make, monkeypatch):
        is_loop_free = threading.Event()
        real = targets.parse_filter

        def wait_for_the_loop(*args):
            assert is_loop_free.wait(timeout=10)
            return real(*args)

        monkeypatch.setattr(targets, "parse_filter", wait_for_the_loop)

        async def retrieve_beside_others():
            retrieving = asyncio.ensure_future(make().aretrieve("granite crystals"))
            await asyncio.sleep(0.01)
            is_loop_free.set()
            return await retrieving

        assert asyncio.run(retrieve_beside_others())
