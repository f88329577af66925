"""Concepts, their quotes and relationships, and the searches of these and of sources."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from typing_extensions import TypedDict

from strata_types.common import AnyList, ConceptLabel, HitVerdict, ListOptions
from strata_types.documents import HitArtifact, HitPage, HitSource, Neighbour
from strata_types.searches import AnswerHead, Hit, Mode, VersionsOption

KnowledgeKind: TypeAlias = Literal["concept", "source", "relationship_type"]

# --- What is stored --------------------------------------------------------------------------


class Concept(TypedDict):
    id: str
    index: str
    label: str
    description: str
    search_terms: list[str]
    evidence_count: int
    """A quote is descriptive: it shows where a text mentions a concept, and does not prove a
    relationship."""
    relationship_count: int
    revision: int


class InstanceSource(HitSource):
    heading: str


class Instance(TypedDict):
    """A quote of a concept."""

    id: str
    quote: str
    start_offset: int
    """Unicode code points, in the source's text."""
    end_offset: int
    verdict: Literal["exact", "stale", "lost"]
    """exact: the source contains the quote at these offsets. stale: the source changed; the quote
    will be searched for again. lost: the document no longer contains it."""
    artifact: HitArtifact
    source: InstanceSource | None


class RelationshipTypeName(TypedDict):
    id: str
    name: str
    category: str


class RelationshipType(RelationshipTypeName):
    index: str
    description: str
    revision: int


class Relationship(TypedDict):
    id: str
    source: ConceptLabel
    type: RelationshipTypeName
    target: ConceptLabel


class ConceptList(AnyList):
    results: list[Concept]


class InstanceList(AnyList):
    results: list[Instance]


class RelationshipTypeList(AnyList):
    results: list[RelationshipType]


class RelationshipList(AnyList):
    results: list[Relationship]


# --- Options of what is stored ---------------------------------------------------------------


class ConceptListOptions(ListOptions, total=False):
    label: str | None
    """A part of the label, in any case."""
    evidence: Literal["none", "some"] | None
    """Only concepts without quotes, or only those with some."""


class ConceptOptions(TypedDict, total=False):
    description: str | None
    search_terms: Sequence[str] | None


class RelationshipListOptions(ListOptions, total=False):
    concept: str | None
    """Only those from or to the concept with this id."""
    type: str | None
    """Only those of the type with this id."""


class RelationshipTypeOptions(TypedDict, total=False):
    category: str | None
    description: str | None


class EmergentOptions(ListOptions, total=False):
    state: Literal["open", "dismissed"] | None
    min_similarity: float | None
    bridge_similarity: float | None
    """The minimum similarity of a source to both concepts."""


# --- Options of searches ---------------------------------------------------------------------


class NearnessOptions(TypedDict, total=False):
    limit: int | None
    """1 to 100."""
    min_similarity: float | None
    """Cosine, -1 to 1."""


class KnowledgeSearchOptions(NearnessOptions, total=False):
    """Options of any search of concepts, relationship types and sources."""

    vector: Sequence[float] | None
    """In place of the query's."""


class PagedKnowledgeSearchOptions(KnowledgeSearchOptions, total=False):
    offset: int | None


class SourceContextOptions(KnowledgeSearchOptions, total=False):
    include_concepts: bool | None
    window: int | None
    """Neighbours on each side, 0 to 10."""
    mode: Mode | None
    """How sources are ranked."""


class SourceSearchOptions(VersionsOption, SourceContextOptions, total=False):
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


class SimilarSourcesOptions(NearnessOptions, total=False):
    window: int | None
    """Neighbours on each side, 0 to 10."""
    other_documents: bool | None
    """Leave out sources of the same document."""


class PathsOptions(NearnessOptions, total=False):
    depth: int | None
    """Relationships in a chain, 1 to 3."""


class BlendOptions(KnowledgeSearchOptions, total=False):
    concept_weight: float | None
    """0 to 10."""
    source_weight: float | None
    relationship_weight: float | None


# --- Hits ------------------------------------------------------------------------------------


class MatchReason(TypedDict):
    """One way in which a hit was found."""

    way: KnowledgeKind
    similarity: float
    weight: float
    score: float
    """Similarity times weight."""
    through: dict[str, str]
    """Ids of what led to it; empty if its own text matched."""


class KnowledgeHit(TypedDict):
    score: float
    """A quote is descriptive: it does not prove a relationship."""
    score_kind: Literal["cosine", "rrf", "standard_score", "bm25", "dot_product", "weighted_sum"]
    """cosine; of a source also rrf, standard_score, bm25 or dot_product, by the mode and the index;
    of a blended concept weighted_sum, the sum of the scores in ways."""
    kind: KnowledgeKind
    id: str
    index: str
    text: str | None
    ways: list[MatchReason]
    """How it was found; see score_kind."""


class EntityHit(KnowledgeHit):
    """A hit on an entity, whose text no document holds."""

    node_id: str
    verdict: HitVerdict | None
    start_offset: None
    end_offset: None
    artifact: None
    page: None
    source: None
    metadata: dict[str, Any]


class ConceptHit(EntityHit):
    label: str
    description: str
    search_terms: list[str]
    evidence: list[Instance]


class RelationshipTypeHit(EntityHit):
    name: str
    category: str
    description: str
    relationships: list[Relationship]


class QuotedConcept(ConceptLabel):
    evidence: Instance


class SourceHit(KnowledgeHit):
    ordinal: int | None
    heading: str | None
    artifact: HitArtifact
    page: HitPage
    similarity: float
    """Cosine of its nearest chunk, in every mode."""
    stale: bool
    """It changed since its chunks were embedded."""
    chunks: list[Hit]
    concepts: list[QuotedConcept]
    neighbours: list[Neighbour]


# --- Answers of searches ---------------------------------------------------------------------


class KnowledgeAnswer(AnswerHead):
    took_ms: dict[str, float]


class ConceptSearchAnswer(KnowledgeAnswer):
    hits: list[ConceptHit]


class RelationshipHit(Relationship):
    """A single relationship, found by its concepts, its type and their quotes."""

    index: str
    kind: Literal["relationship"]
    score: float
    score_kind: str
    verdict: Literal["exact", "stale"]
    quotes: list[Instance]
    """One of each of its concepts, if possible from one source."""


class RelationshipTypeSearchAnswer(KnowledgeAnswer):
    hits: list[RelationshipTypeHit]
    relationships: list[RelationshipHit]
    """Single relationships, the most similar first."""


class SourceSearchAnswer(KnowledgeAnswer):
    hits: list[SourceHit]


class EntryPoint(TypedDict):
    kind: KnowledgeKind
    id: str
    similarity: float


class RoutingAnswer(KnowledgeAnswer):
    entry: EntryPoint | None
    """The nearest of all."""
    concepts: list[ConceptHit]
    sources: list[SourceHit]
    relationship_types: list[RelationshipTypeHit]


class ConceptInstance(Instance):
    concept: str


class SubgraphAnswer(KnowledgeAnswer):
    concepts: list[ConceptHit]
    sources: list[SourceHit]
    relationship_types: list[RelationshipTypeHit]
    relationships: list[Relationship]
    """Relationships of these concepts, at most 1,000; those among them first."""
    relationship_count: int
    """All relationships of these concepts."""
    evidence: list[ConceptInstance]
    """The quotes that connect the concepts with the sources."""


# --- About one concept -----------------------------------------------------------------------


class ConceptAnswer(TypedDict):
    index: str
    concept: ConceptLabel


class RankedInstance(Instance):
    similarity: float | None
    """To the query."""
    way: str


class ConceptEvidenceAnswer(ConceptAnswer):
    count: int
    hits: list[RankedInstance]


class ConceptSource(Neighbour):
    artifact: HitArtifact
    evidence: list[Instance]
    neighbours: list[Neighbour]


class ConceptContextAnswer(ConceptAnswer):
    sources: list[ConceptSource]


class PathStep(Relationship):
    similarity: float
    """Of its type to the word."""
    like: str
    reversed: bool
    """Followed against its direction."""


class ConceptPath(TypedDict):
    similarity: float
    """The lowest similarity of its steps."""
    concepts: list[str]
    steps: list[PathStep]


class PathsAnswer(ConceptAnswer):
    paths: list[ConceptPath]


# --- About several concepts ------------------------------------------------------------------


class SharedNeighbour(ConceptLabel):
    concepts: list[ConceptLabel]
    """The given concepts to which it is related: two or more."""
    relationships: list[Relationship]


class SharedSource(Neighbour):
    artifact: HitArtifact
    concepts: list[QuotedConcept]
    """Its quotes of the given concepts, of two or more of them."""


class SharedAnswer(TypedDict):
    """What several concepts share, in the order of how many of them share it."""

    index: str
    concepts: list[ConceptLabel]
    relationships: list[Relationship]
    """Between two of them."""
    neighbours: list[SharedNeighbour]
    neighbour_count: int
    sources: list[SharedSource]
    source_count: int


# --- Similar concepts without a relationship -------------------------------------------------


class Bridge(SourceHit):
    similarities: list[float]
    """To the first concept and to the second."""


class EmergentPair(TypedDict):
    id: str | None
    """Null if the pair was computed for this request and not stored."""
    index: str
    concepts: list[ConceptLabel]
    """The two concepts."""
    similarity: float
    way: str
    state: Literal["open", "dismissed"]
    found_at: str | None
    """Null if the pair is not stored."""
    bridges: list[Bridge]


class EmergentPairList(AnyList):
    results: list[EmergentPair]
