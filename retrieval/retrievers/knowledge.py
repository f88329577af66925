"""Retrievers of concepts, relationship types and sources, which share one embedding space."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, TypeVar

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo

from indexing.stores import DenseVector
from retrieval.knowledge.concepts import (
    ConceptHit,
    RelationshipTypeHit,
    search_concepts,
    search_relationship_types,
)
from retrieval.knowledge.graph import Subgraph, search_subgraph
from retrieval.knowledge.query import KnowledgeAnswer, KnowledgeQuery
from retrieval.knowledge.routing import (
    BlendWeights,
    RoutingResult,
    blend_concepts,
    route_query,
)
from retrieval.knowledge.sources import SourceHit, search_sources
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import make_hit_node
from retrieval.search import Mode, SearchOptions

Found = TypeVar("Found")


class KnowledgeRetriever(IndexRetriever[KnowledgeAnswer[Found]]):
    """Scores are cosine similarities, in part weighted; several indexes must share a model."""

    takes = frozenset({"limit", "min_similarity"})

    @abstractmethod
    def find(self, knowledge_query: KnowledgeQuery) -> Found:
        """Find the hits nearest to a query."""

    def search(self, query: str) -> KnowledgeAnswer[Found]:
        return self._answer(KnowledgeQuery(self.indexes, query, grant=self.grant))

    def search_by_vector(self, vector: DenseVector) -> KnowledgeAnswer[Found]:
        """Search with a vector of the indexes' model instead of a query."""
        return self._answer(KnowledgeQuery(self.indexes, vector=vector, grant=self.grant))

    def _answer(self, knowledge_query: KnowledgeQuery) -> KnowledgeAnswer[Found]:
        found = self.find(knowledge_query)
        return knowledge_query.finish(KnowledgeAnswer, found=found)


class ConceptRetriever(KnowledgeRetriever[list[ConceptHit]]):
    """Concepts by their meaning, each with quotes."""

    takes = KnowledgeRetriever.takes | {"offset"}

    def find(self, knowledge_query: KnowledgeQuery) -> list[ConceptHit]:
        return search_concepts(knowledge_query, self.options)

    def to_nodes(self, answer: KnowledgeAnswer[list[ConceptHit]]) -> list[NodeWithScore]:
        return [_to_concept_node(hit) for hit in answer.found]


class RelationshipTypeRetriever(KnowledgeRetriever[list[RelationshipTypeHit]]):
    """Relationship types by their meaning, each with relationships."""

    takes = KnowledgeRetriever.takes | {"offset"}

    def find(self, knowledge_query: KnowledgeQuery) -> list[RelationshipTypeHit]:
        return search_relationship_types(knowledge_query, self.options)

    def to_nodes(self, answer: KnowledgeAnswer[list[RelationshipTypeHit]]) -> list[NodeWithScore]:
        return [_to_relationship_type_node(hit) for hit in answer.found]


class SourceRetriever(KnowledgeRetriever[list[SourceHit]]):
    """Sources by their chunks, in a mode. ``min_similarity`` is a cosine in every mode. ``window``
    adds the sources on each side, ``with_concepts`` the quotes in each source with their concepts;
    ``filter`` has the API's syntax."""

    takes = KnowledgeRetriever.takes | {"offset", "mode", "filter"}

    def __init__(
        self,
        index: Any,
        *,
        window: int = 0,
        with_concepts: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(index, **options)
        self.window = window
        self.with_concepts = with_concepts

    def find(self, knowledge_query: KnowledgeQuery) -> list[SourceHit]:
        return search_sources(
            knowledge_query,
            self.options,
            window=self.window,
            with_concepts=self.with_concepts,
        )

    def to_nodes(self, answer: KnowledgeAnswer[list[SourceHit]]) -> list[NodeWithScore]:
        return [_to_source_node(hit) for hit in answer.found]


class RoutingRetriever(KnowledgeRetriever[RoutingResult]):
    """Concepts, sources and relationship types near a query, and which of them is nearest.

    ``limit`` and ``min_similarity`` hold for each kind that has no limits of its own. ``mode``,
    ``window`` and ``with_concepts`` apply to the sources.
    """

    takes = KnowledgeRetriever.takes | {"mode"}

    def __init__(
        self,
        index: Any,
        *,
        concept_limit: int | None = None,
        concept_min_similarity: float | None = None,
        source_limit: int | None = None,
        source_min_similarity: float | None = None,
        relationship_limit: int | None = None,
        relationship_min_similarity: float | None = None,
        mode: Mode | str = Mode.DENSE,
        window: int = 0,
        with_concepts: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(index, mode=mode, **options)
        self.concepts = self._limit(concept_limit, concept_min_similarity)
        self.sources = self._limit(source_limit, source_min_similarity)
        self.types = self._limit(relationship_limit, relationship_min_similarity)
        self.window = window
        self.with_concepts = with_concepts

    def find(self, knowledge_query: KnowledgeQuery) -> RoutingResult:
        return route_query(
            knowledge_query,
            concepts=self.concepts,
            sources=self.sources,
            types=self.types,
            window=self.window,
            with_concepts=self.with_concepts,
        )

    def _limit(self, limit: int | None, min_similarity: float | None) -> SearchOptions:
        options = self.options
        return replace(
            options,
            limit=options.limit if limit is None else limit,
            min_similarity=options.min_similarity if min_similarity is None else min_similarity,
        )

    def to_nodes(self, answer: KnowledgeAnswer[RoutingResult]) -> list[NodeWithScore]:
        return _to_nodes_of_each_kind(answer.found)


class BlendRetriever(KnowledgeRetriever[list[ConceptHit]]):
    """Concepts by their meaning, by the sources that quote them and by the types of their
    relationships; each once, with the sum of its weighted scores."""

    def __init__(
        self,
        index: Any,
        *,
        concept_weight: float = 1.0,
        source_weight: float = 0.8,
        relationship_weight: float = 0.6,
        **options: Any,
    ) -> None:
        super().__init__(index, **options)
        self.weights = BlendWeights(concept_weight, source_weight, relationship_weight)

    def find(self, knowledge_query: KnowledgeQuery) -> list[ConceptHit]:
        return blend_concepts(knowledge_query, self.options, self.weights)

    def to_nodes(self, answer: KnowledgeAnswer[list[ConceptHit]]) -> list[NodeWithScore]:
        return [_to_concept_node(hit) for hit in answer.found]


class SubgraphRetriever(KnowledgeRetriever[Subgraph]):
    """Concepts, sources and types above a similarity, at most ``limit`` of each, and the
    relationships among them."""

    takes = KnowledgeRetriever.takes | {"mode"}

    def __init__(self, index: Any, *, min_similarity: float = 0.7, **options: Any) -> None:
        super().__init__(index, mode=Mode.DENSE, min_similarity=min_similarity, **options)

    def find(self, knowledge_query: KnowledgeQuery) -> Subgraph:
        return search_subgraph(knowledge_query, self.options)

    def to_nodes(self, answer: KnowledgeAnswer[Subgraph]) -> list[NodeWithScore]:
        return _to_nodes_of_each_kind(answer.found)


def _to_nodes_of_each_kind(found: RoutingResult | Subgraph) -> list[NodeWithScore]:
    """Best first."""
    nodes = (
        [_to_concept_node(hit) for hit in found.concepts]
        + [_to_source_node(hit) for hit in found.sources]
        + [_to_relationship_type_node(hit) for hit in found.types]
    )
    return sorted(nodes, key=lambda each: -(each.score or 0.0))


def _to_concept_node(hit: ConceptHit) -> NodeWithScore:
    concept = hit.concept
    metadata = {
        "kind": "concept",
        "index": concept.index,
        "label": concept.label,
        "description": concept.description,
        "quotes": [instance.quote for instance in hit.instances],
        "verdict": str(hit.verdict or "exact"),
    }
    node = make_hit_node(str(concept.pk), concept.text, metadata, {})
    return NodeWithScore(node=node, score=hit.score)


def _to_relationship_type_node(hit: RelationshipTypeHit) -> NodeWithScore:
    relationship_type = hit.type
    metadata = {
        "kind": "relationship_type",
        "index": relationship_type.index,
        "name": relationship_type.name,
        "category": relationship_type.category,
        "verdict": str(hit.verdict),
    }
    return NodeWithScore(
        node=make_hit_node(str(relationship_type.pk), relationship_type.text, metadata, {}),
        score=hit.reason.score,
    )


def _to_source_node(hit: SourceHit) -> NodeWithScore:
    """Convert a source hit. If an edit removed the source, use the text of its best chunk."""
    payload, source = hit.chunks[0].payload, hit.source
    metadata = {
        **payload["metadata"],
        "kind": "source",
        "index": hit.index,
        "artifact_id": payload["artifact_id"],
        "title": payload["artifact_title"],
        "file_name": payload.get("file_name"),
        "page_id": payload["page_id"],
        "page_index": payload["page_index"],
        "verdict": "stale" if hit.is_stale else "exact",
    }
    artifact = RelatedNodeInfo(node_id=payload["artifact_id"])
    text = payload["text"] if source is None else source.text
    node = make_hit_node(str(hit.source_id), text, metadata, {NodeRelationship.SOURCE: artifact})
    return NodeWithScore(node=node, score=hit.score)
