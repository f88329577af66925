"""Retrievers of concepts, relationship types and sources, which share one embedding space."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from llama_index.core.schema import NodeWithScore

from access.grants import Grant
from concepts.knowledge.concepts import (
    ConceptHit,
    RelationshipAnswer,
    RelationshipHit,
    RelationshipTypeHit,
    search_concepts,
    search_relationship_types,
    search_relationships,
)
from concepts.knowledge.graph import Subgraph, search_subgraph
from concepts.knowledge.query import KnowledgeAnswer, KnowledgeQuery
from concepts.knowledge.routing import RoutingResult, blend_concepts
from concepts.knowledge.sources import SourceHit, search_sources
from indexing.models import IndexBuild
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import make_node, to_document_node
from retrieval.retrievers.recursive import Found as PlacesFound
from retrieval.search import Mode, SearchOptions

Found = TypeVar("Found")

MAX_ABOVE_CHUNKS = 30  # concepts or relationships that lead to chunks, with three quotes each


class KnowledgeRetriever(IndexRetriever[KnowledgeAnswer[Found]]):
    """Scores are cosine similarities, in part weighted; several indexes must share a model."""

    takes = frozenset({"limit", "min_similarity", "vector"})

    @abstractmethod
    def find(self, knowledge_query: KnowledgeQuery) -> Found:
        """Find the hits nearest to a query."""

    def search(self, query: str) -> KnowledgeAnswer[Found]:
        knowledge_query = self.prepare(query)
        found = self.find(knowledge_query)
        return knowledge_query.finish(KnowledgeAnswer, found=found)

    def prepare(self, query: str) -> KnowledgeQuery:
        return KnowledgeQuery(self.indexes, query, grant=self.grant, vector=self.options.vector)

    def to_nodes(self, answer: KnowledgeAnswer[Any]) -> list[NodeWithScore]:
        """The hits of all kinds, best first."""
        found = answer.found
        if isinstance(found, RoutingResult):
            found = [*found.concepts, *found.sources, *found.types]
        return sorted((_to_node(hit) for hit in found), key=lambda node: -(node.score or 0.0))


class ConceptRetriever(KnowledgeRetriever[list[ConceptHit]]):
    """Concepts by their meaning, each with quotes."""

    takes = KnowledgeRetriever.takes | {"offset"}

    def find(self, knowledge_query: KnowledgeQuery) -> list[ConceptHit]:
        return search_concepts(knowledge_query, self.options)


class RelationshipTypeRetriever(KnowledgeRetriever[list[RelationshipTypeHit]]):
    """Relationship types by their meaning, each with relationships; and single relationships."""

    takes = KnowledgeRetriever.takes | {"offset"}

    def find(self, knowledge_query: KnowledgeQuery) -> list[RelationshipTypeHit]:
        return search_relationship_types(knowledge_query, self.options)

    def search(self, query: str) -> RelationshipAnswer:
        knowledge_query = self.prepare(query)
        found = self.find(knowledge_query)
        edges = search_relationships(knowledge_query, self.options)
        return knowledge_query.finish(RelationshipAnswer, found=found, relationships=edges)


class SourceRetriever(KnowledgeRetriever[list[SourceHit]]):
    """Sources by their chunks, in a mode. ``min_similarity`` is a cosine in every mode. ``window``
    adds the sources on each side, ``with_concepts`` the quotes in each source with their concepts;
    ``filter`` has the API's syntax."""

    takes = KnowledgeRetriever.takes | {"offset", "mode", "filter", "versions"}

    def __init__(
        self, index: Any, *, window: int = 0, with_concepts: bool = False, **options: Any
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
            versions=self.options.versions,
        )


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

        def override(**limits: Any) -> SearchOptions:
            given = {name: limit for name, limit in limits.items() if limit is not None}
            return replace(self.options, **given)

        self.concepts = override(limit=concept_limit, min_similarity=concept_min_similarity)
        self.sources = override(limit=source_limit, min_similarity=source_min_similarity)
        self.types = override(limit=relationship_limit, min_similarity=relationship_min_similarity)
        self.window = window
        self.with_concepts = with_concepts

    def find(self, knowledge_query: KnowledgeQuery) -> RoutingResult:
        return RoutingResult(
            search_concepts(knowledge_query, self.concepts),
            search_sources(
                knowledge_query, self.sources, window=self.window, with_concepts=self.with_concepts
            ),
            search_relationship_types(knowledge_query, self.types),
        )


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
        self.weights = {
            "concept": concept_weight,
            "source": source_weight,
            "relationship_type": relationship_weight,
        }

    def find(self, knowledge_query: KnowledgeQuery) -> list[ConceptHit]:
        return blend_concepts(knowledge_query, self.options, self.weights)


class SubgraphRetriever(KnowledgeRetriever[Subgraph]):
    """Concepts, sources and types above a similarity, at most ``limit`` of each, and the
    relationships among them."""

    takes = KnowledgeRetriever.takes | {"mode"}

    def __init__(self, index: Any, *, min_similarity: float = 0.7, **options: Any) -> None:
        super().__init__(index, mode=Mode.DENSE, min_similarity=min_similarity, **options)

    def find(self, knowledge_query: KnowledgeQuery) -> Subgraph:
        return search_subgraph(knowledge_query, self.options)


def _to_node(hit: ConceptHit | RelationshipTypeHit | SourceHit) -> NodeWithScore:
    if isinstance(hit, SourceHit):
        # If an edit removed the source, use the text of its best chunk.
        text = hit.chunks[0].payload["text"] if hit.source is None else hit.source.text
        metadata: dict[str, Any] = {
            "kind": "source",
            "verdict": "stale" if hit.is_stale else "exact",
        }
        return to_document_node(hit.chunks[0], text, hit.score, metadata, id=str(hit.source_id))
    entity = hit.entity
    metadata = {"kind": hit.kind, "index": entity.index, "verdict": str(hit.verdict or "exact")}
    if isinstance(hit, ConceptHit):
        metadata |= {
            "label": hit.entity.label,
            "description": hit.entity.description,
            "quotes": [instance.quote for instance in hit.quotes],
        }
    else:
        metadata |= {"name": hit.entity.name, "category": hit.entity.category}
    return make_node(str(entity.pk), entity.text, hit.score, metadata)


# --- What leads to chunks --------------------------------------------------------------------


def _find_places(
    retriever: type[KnowledgeRetriever[Any]],
    found: str,
    indexes: Sequence[str | IndexBuild],
    query: str,
    options: SearchOptions,
    grant: Grant,
) -> PlacesFound:
    """The sources that the nearest hits quote, or that their concepts quote."""
    limits = {"limit": MAX_ABOVE_CHUNKS, "vector": options.vector}
    answer = retriever(indexes, grant=grant, **limits).search(query)
    hits: Sequence[ConceptHit | RelationshipHit] = getattr(answer, found)
    return answer, [
        (("source_id", str(quote.source_id)), hit.score)
        for hit in hits
        for quote in hit.quotes
        if quote.source_id
    ]


find_concept_places = partial(_find_places, ConceptRetriever, "found")
find_relationship_places = partial(_find_places, RelationshipTypeRetriever, "relationships")
