"""Concepts, their evidence and relationships, and the searches of these and of sources."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypedDict

from strata_client.types.documents import AnyList
from strata_client.types.searches import Hit, HitArtifact, HitPage, Mode
from strata_client.types.sources import Neighbour

KnowledgeKind: TypeAlias = Literal["concept", "source", "relationship_type"]

# --- What is stored --------------------------------------------------------------------------


class Concept(TypedDict):
    id: str
    index: str
    label: str
    description: str
    search_terms: list[str]
    evidence_count: int
    relationship_count: int
    revision: int


class ConceptLabel(TypedDict):
    id: str
    label: str


class Instance(TypedDict):
    """A quote that is evidence of a concept."""

    id: str
    quote: str
    start_offset: int  # in the source's text
    end_offset: int
    verdict: Literal["exact", "stale", "lost"]
    artifact: dict[str, Any]
    source: dict[str, Any] | None


class RelationshipType(TypedDict):
    id: str
    index: str
    name: str
    category: str
    description: str
    revision: int


class Relationship(TypedDict):
    id: str
    source: dict[str, Any]  # id and label of a concept
    type: dict[str, Any]  # id, name and category
    target: dict[str, Any]


class Deletion(TypedDict):
    id: str
    deleted: bool
    revision: int


class ConceptList(AnyList):
    results: list[Concept]


class InstanceList(AnyList):
    results: list[Instance]


class RelationshipTypeList(AnyList):
    results: list[RelationshipType]


class RelationshipList(AnyList):
    results: list[Relationship]


# --- Options of searches ---------------------------------------------------------------------


class KnowledgeSearchOptions(TypedDict, total=False):
    """Options of any search of concepts, relationship types and sources."""

    limit: int | None  # 1 to 100
    min_similarity: float | None  # cosine, -1 to 1


class PagedKnowledgeSearchOptions(KnowledgeSearchOptions, total=False):
    offset: int | None


class SourceContextOptions(KnowledgeSearchOptions, total=False):
    include_concepts: bool | None
    window: int | None  # neighbours on each side, 0 to 10
    mode: Mode | None  # how sources are ranked


class SourceSearchOptions(SourceContextOptions, total=False):
    filter: Mapping[str, Any] | None
    offset: int | None


class RouteOptions(SourceContextOptions, total=False):
    """Each kind may have a limit and a minimum similarity of its own."""

    concept_limit: int | None
    concept_min_similarity: float | None
    source_limit: int | None
    source_min_similarity: float | None
    relationship_limit: int | None
    relationship_min_similarity: float | None


class BlendOptions(KnowledgeSearchOptions, total=False):
    concept_weight: float | None  # 0 to 10
    source_weight: float | None
    relationship_weight: float | None


# --- Hits ------------------------------------------------------------------------------------


class MatchReason(TypedDict):
    """One way in which a hit was found."""

    way: KnowledgeKind
    similarity: float
    weight: float
    score: float  # similarity times weight
    through: dict[str, str]  # ids of what it was found through


class _KnowledgeHit(TypedDict):
    score: float
    score_kind: str
    kind: KnowledgeKind
    id: str
    index: str
    text: str | None
    ways: list[MatchReason]


class _EntityHit(_KnowledgeHit):
    node_id: str
    verdict: Literal["exact", "stale"] | None
    start_offset: None
    end_offset: None
    artifact: None
    page: None
    source: None
    metadata: dict[str, Any]


class ConceptHit(_EntityHit):
    label: str
    description: str
    search_terms: list[str]
    evidence: list[Instance]


class RelationshipTypeHit(_EntityHit):
    name: str
    category: str
    description: str
    relationships: list[Relationship]


class QuotedConcept(TypedDict):
    id: str
    label: str
    evidence: Instance


class SourceHit(_KnowledgeHit):
    ordinal: int | None
    heading: str | None
    artifact: HitArtifact
    page: HitPage
    similarity: float  # of its nearest chunk
    stale: bool
    chunks: list[Hit]
    concepts: list[QuotedConcept]
    neighbours: list[Neighbour]


# --- Answers of searches ---------------------------------------------------------------------


class _KnowledgeAnswer(TypedDict):
    index: str | list[str]
    build: int | list[int]
    took_ms: dict[str, float]


class ConceptSearchAnswer(_KnowledgeAnswer):
    hits: list[ConceptHit]


class RelationshipTypeSearchAnswer(_KnowledgeAnswer):
    hits: list[RelationshipTypeHit]


class SourceSearchAnswer(_KnowledgeAnswer):
    hits: list[SourceHit]


class EntryPoint(TypedDict):
    kind: KnowledgeKind
    id: str
    similarity: float


class RoutingAnswer(_KnowledgeAnswer):
    entry: EntryPoint | None  # the nearest of all
    concepts: list[ConceptHit]
    sources: list[SourceHit]
    relationship_types: list[RelationshipTypeHit]


class ConceptInstance(Instance):
    concept: str


class SubgraphAnswer(_KnowledgeAnswer):
    concepts: list[ConceptHit]
    sources: list[SourceHit]
    relationship_types: list[RelationshipTypeHit]
    relationships: list[Relationship]
    relationship_count: int
    evidence: list[ConceptInstance]


# --- About one concept -----------------------------------------------------------------------


class RankedInstance(Instance):
    similarity: float | None  # to the query
    way: str


class _ConceptAnswer(TypedDict):
    index: str
    concept: ConceptLabel


class ConceptEvidenceAnswer(_ConceptAnswer):
    count: int
    hits: list[RankedInstance]


class ConceptSource(Neighbour):
    artifact: HitArtifact
    evidence: list[Instance]
    neighbours: list[Neighbour]


class ConceptContextAnswer(_ConceptAnswer):
    sources: list[ConceptSource]


class PathStep(Relationship):
    similarity: float  # of its type to the word
    like: str
    reversed: bool  # followed against its direction


class ConceptPath(TypedDict):
    similarity: float  # the lowest of its steps
    concepts: list[str]
    steps: list[PathStep]


class PathsAnswer(_ConceptAnswer):
    paths: list[ConceptPath]


# --- Similar concepts without a relationship -------------------------------------------------


class Bridge(SourceHit):
    similarities: list[float]  # to the first concept and to the second


class EmergentPair(TypedDict):
    id: str | None  # None: computed for the request, and not stored
    index: str
    concepts: list[ConceptLabel]
    similarity: float
    way: str
    state: Literal["open", "dismissed"]
    found_at: str | None
    bridges: list[Bridge]


class EmergentPairList(AnyList):
    results: list[EmergentPair]
