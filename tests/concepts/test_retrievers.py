"""Retrievers of concepts, relationship types and sources, as LlamaIndex sees them."""

import pytest

from concepts.quotes import add_quote
from concepts.retrievers import (
    BlendRetriever,
    ConceptRetriever,
    RelationshipTypeRetriever,
    RoutingRetriever,
    SourceRetriever,
    SubgraphRetriever,
)
from concepts.services import create_concept
from indexing.services import sync_nodes
from retrieval.retrievers import RecursiveChunkRetriever
from tests.concepts.conftest import INDEX
from tests.concepts.test_searches import graph  # noqa: F401
from tests.factories import PARAGRAPHS, give, sync


class TestRetrieversOfKnowledge:
    @pytest.mark.parametrize(
        ("retriever", "kinds"),
        [
            (ConceptRetriever, {"concept"}),
            (RelationshipTypeRetriever, {"relationship_type"}),
            (SourceRetriever, {"source"}),
            (BlendRetriever, {"concept"}),
            (RoutingRetriever, {"concept", "relationship_type", "source"}),
        ],
    )
    def test_return_nodes_of_their_kinds_best_first(self, graph, retriever, kinds):  # noqa: F811
        nodes = retriever(INDEX).retrieve("heron bird")

        assert {node.metadata["kind"] for node in nodes} == kinds
        scores = [node.score for node in nodes]
        assert scores == sorted(scores, reverse=True)
        assert all(node.metadata["verdict"] == "exact" for node in nodes)

    def test_return_the_hits_of_the_search(self, graph):  # noqa: F811
        retriever = ConceptRetriever(INDEX, limit=2)

        nodes = retriever.retrieve("heron bird")

        found = retriever.search("heron bird").found
        assert [node.node_id for node in nodes] == [str(hit.entity.pk) for hit in found]
        assert nodes[0].metadata["quotes"] == ["The heron stands"]

    def test_descend_from_a_concept_to_the_passage_that_it_quotes(self, knowledge):
        texts = ["Plants turn light into sugar.", *PARAGRAPHS[1:]]
        artifacts = [give(text, index=INDEX) for text in texts]
        sync(knowledge, *artifacts)
        concept = create_concept(INDEX, "Photosynthesis")
        add_quote(concept.pk, "light into sugar", artifact_id=artifacts[0].pk)
        sync_nodes(knowledge)

        [hit] = RecursiveChunkRetriever(INDEX, limit=1).search("photosynthesis").hits

        assert hit.payload["artifact_id"] == str(artifacts[0].pk)

    def test_return_the_subgraph_above_a_similarity(self, graph):  # noqa: F811
        nodes = SubgraphRetriever(INDEX, min_similarity=0.2).retrieve("heron")

        assert nodes
        assert all(node.score > 0.2 for node in nodes)

    def test_say_that_they_read_no_syntax(self, graph):  # noqa: F811
        notes = {
            query: SourceRetriever(INDEX).search(query).notes
            for query in ("heron -bird", "state-of-the-art heron")
        }

        assert ["reads no quotation marks" in note for note in notes.pop("heron -bird")] == [True]
        assert notes == {"state-of-the-art heron": []}
