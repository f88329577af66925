"""Searches: options, hits and answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from strata_types.common import AnyList, HitVerdict
from strata_types.documents import HitArtifact, HitPage, HitSource

Filter: TypeAlias = Mapping[str, object]
"""Such as ``{"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}``; all_of, any_of, not nest."""

SearchKind: TypeAlias = Literal["pages", "summaries", "questions"]
Mode: TypeAlias = Literal["hybrid", "dense", "sparse"]


class VersionsOption(TypedDict, total=False):
    versions: Literal["newest", "all"] | None
    """Of versions and copies of a passage, only the newest, the default, or all."""


class ConditionOptions(TypedDict, total=False):
    """What the text of each hit has and lacks, whatever its case, accents and punctuation."""

    must: str | Sequence[str] | None
    """Words that stand anywhere."""
    must_not: str | Sequence[str] | None
    """Words and phrases."""
    phrases: str | Sequence[str] | None


class AnyOptions(TypedDict, total=False):
    """Options of any search; the server chooses defaults for None."""

    limit: int | None
    """1 to 100."""
    filter: Filter | None
    verify: bool | None
    stale: Literal["flag", "omit"] | None
    min_revision: int | None


class RecursiveSearchOptions(AnyOptions, VersionsOption, ConditionOptions, total=False):
    mode: Mode | None
    vector: Sequence[float] | None
    """In place of the query's. Without a query the search is by meaning only."""


class HierarchicalSearchOptions(RecursiveSearchOptions, total=False):
    """`limit` counts artifacts, 1 to 50, 5 by default."""

    explain: bool | None


class SearchOptions(HierarchicalSearchOptions, total=False):
    offset: int | None
    min_score: float | None
    """On the scale of the mode's scores."""


class PassageSearchOptions(SearchOptions, total=False):
    group_by: Literal["page", "artifact"] | None
    """Only the best passage of each; a second one that is nearly as good adds to its score.
    ``limit`` and ``offset`` count pages or artifacts."""


class SummarySearchOptions(SearchOptions, total=False):
    type: Literal["page_summary", "artifact_summary", "all"] | None


# --- Hits ------------------------------------------------------------------------------------


class HitShare(TypedDict):
    """What one of the two rankings gave to a hit's score."""

    rank: int
    """Counted from 1."""
    score: float | None
    contribution: float


class FusionWeights(TypedDict):
    dense: float
    sparse: float


class HitFusion(TypedDict):
    method: Literal["ranks", "scores"]
    k: int
    """Of reciprocal ranks only."""
    weights: FusionWeights


class HitExplanation(TypedDict):
    dense: HitShare | None
    sparse: HitShare | None
    fusion: HitFusion | None
    words: NotRequired[dict[str, str]]
    """The words of the query that the passage has, with what it has: `10mg` with `10 mg`."""
    second_passage: NotRequired[float]
    """What another passage of its page or document, or of an earlier version, adds to the score."""


class FoldedPassage(TypedDict):
    node_id: str
    artifact: HitArtifact
    page: HitPage | None
    """Null for an artifact's summary."""
    text: str | None
    """Null for a copy."""


class FoldedPassages(TypedDict):
    """The passages that a hit stands for, too."""

    versions: int
    """Passages of other versions of its document, which say nearly the same."""
    copies: int
    """Passages with the same words elsewhere."""
    passages: list[FoldedPassage]
    """The first 20 of them."""


class AnyHit(TypedDict):
    """The fields of every kind of hit."""

    score: float
    node_id: str
    kind: str
    text: str
    verdict: HitVerdict | None
    """Null where verify is false."""
    warnings: list[str]
    """Codes of the document's warnings about the page, such as `hidden_text`; `unseen_passage` if
    the passage itself cannot be seen there."""
    artifact: HitArtifact
    metadata: dict[str, Any]
    """Of its document; of a hit by a question also the fields written about the chunk."""
    index: NotRequired[str]
    """Only if several indexes were searched."""


class SearchHit(AnyHit):
    score_kind: Literal["rrf", "standard_score", "cosine", "bm25", "dot_product"]
    explain: NotRequired[HitExplanation]
    folded: NotRequired[FoldedPassages]
    """Only of a passage that stands for others."""


class Hit(SearchHit):
    """A chunk."""

    start_offset: int
    """Unicode code points, in the source's text."""
    end_offset: int
    page: HitPage
    source: HitSource


class SummaryHit(SearchHit):
    start_offset: None
    end_offset: None
    page: HitPage | None
    source: None
    type: Literal["page_summary", "artifact_summary"]
    entity_id: str
    """Id of the page or artifact."""
    artifact_id: str
    artifact_title: str
    summary_text: str
    model_name: str
    """Model or method that wrote it."""
    date_embedded: str | None
    page_id: NotRequired[str]
    """Only for page summaries."""
    page_index: NotRequired[int]
    page_count: NotRequired[int]
    """Only for artifact summaries."""


class QuestionHit(SearchHit):
    """A chunk with the best of the questions that it answers, and the declared metadata fields."""

    __pydantic_config__ = {"extra": "allow"}  # type: ignore[misc]  # for the declared fields

    start_offset: int
    """Unicode code points, in the passage's text."""
    end_offset: int
    page: HitPage
    passage: HitSource
    source: str
    """File name."""
    id: str
    """Id of the question."""
    chunk_id: str
    question: str | None
    """Null if the passage has no questions: its own words were found."""
    similarity: float | None
    """Cosine of the query and the question; null in the mode `sparse`."""
    summary: str
    """One-line summary of the chunk."""


# --- Answers ---------------------------------------------------------------------------------


class DroppedPoints(TypedDict):
    orphans: int
    integrity_errors: int


class StageTimes(TypedDict):
    embed: float
    search: float
    verify: float
    total: float


class AnswerHead(TypedDict):
    """What each answer of a search of one index or several says first."""

    index: str | list[str]
    build: int | list[int | None] | None
    """Null while there is no live build; a list where several indexes were searched."""


class AnySearchAnswer(AnswerHead):
    took_ms: StageTimes
    notes: list[str]
    """What the answer lacks: for example that it was found by words only, because the endpoint of
    the embedding model failed."""
    dropped: DroppedPoints


class PassageAnswer(AnySearchAnswer):
    relevant: bool | None
    """Whether passages are about the query. If not, the first note says why; null if that cannot
    be told."""


class PageSearchAnswer(PassageAnswer):
    hits: list[Hit]


class SummarySearchAnswer(PassageAnswer):
    hits: list[SummaryHit]


class QuestionSearchAnswer(PassageAnswer):
    hits: list[QuestionHit]


class PageGroup(TypedDict):
    page_id: str
    page_index: int
    """Counted from 0."""
    score: float
    summary_snippet: str | None
    supporting_chunks: list[Hit]
    """At most three, best first."""


class ArtifactGroup(TypedDict):
    artifact_id: str
    artifact_title: str
    file_name: str | None
    score: float
    summary_snippet: str | None
    pages: list[PageGroup]
    """Best first."""
    index: NotRequired[str]
    """Only if several indexes were searched."""


class HierarchicalAnswer(PassageAnswer):
    artifacts: list[ArtifactGroup]
    """Best first."""


# --- Structures and images -------------------------------------------------------------------


class SpaceSearchOptions(AnyOptions, total=False):
    """Options of a search that ranks artifacts in a vector space of their own."""

    offset: int | None
    min_similarity: float | None
    """In that space, 0 to 1."""


class ImageSearchOptions(SpaceSearchOptions, total=False):
    with_text: bool | None
    """Rank artifacts by their passages as well."""


class RankedHit(Hit):
    rank: int
    """Rank of its artifact in the text search, counted from 1."""


class SpaceMatch(TypedDict):
    node_id: str
    similarity: float
    """Cosine in the space."""
    rank: int
    """Counted from 1."""
    verdict: HitVerdict | None


class StructureMatch(SpaceMatch):
    smiles: str
    """As written in the artifact."""


class ImageMatch(SpaceMatch):
    media_type: str
    sha256: str
    """SHA-256 of the embedded image file."""


class SpaceHit(TypedDict):
    """An artifact found in a separate vector space, by its passages, or both."""

    score: float
    score_kind: Literal["cosine", "rrf"]
    """`cosine`; with passages, `rrf`."""
    artifact: HitArtifact
    metadata: dict[str, Any]
    passage: RankedHit | None
    """Null if none was found or requested."""
    index: NotRequired[str]
    """Only if several indexes were searched."""


class StructureHit(SpaceHit):
    structure: StructureMatch | None
    """Null if only the text search found it."""


class ImageHit(SpaceHit):
    image: ImageMatch | None
    """Null if only the artifact's passages were found."""


class StructureSearchAnswer(AnySearchAnswer):
    hits: list[StructureHit]
    """Artifacts, best first."""


class ImageSearchAnswer(AnySearchAnswer):
    hits: list[ImageHit]
    """Artifacts, best first."""


# --- Facets ----------------------------------------------------------------------------------


class FacetValue(TypedDict):
    value: str | int | bool
    count: int
    """Passages, or other nodes of the kind."""
    documents: int


class Facet(TypedDict):
    """The most frequent values of a declared metadata field."""

    field: str
    values: list[FacetValue]
    """Only of a keyword, integer or bool field."""
    missing: int
    """Documents without a value of the field."""


class FacetAnswer(TypedDict):
    index: str
    build: int | None
    kind: str | None
    """The kind of node that is counted; null if the index has no live build."""
    facets: list[Facet]


# --- Tools -----------------------------------------------------------------------------------


class Tool(TypedDict):
    """A search that a spec declares."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of its arguments."""


class ToolList(AnyList):
    results: list[Tool]


class ToolSimilarity(TypedDict):
    similarity: float | None
    """Cosine of the query and the matched question or passage."""


class ToolHit(Hit, ToolSimilarity):
    """A chunk that a tool found."""


class ToolQuestionHit(QuestionHit):
    """A chunk that a tool found by one of its questions."""


class ToolAnswer(PassageAnswer):
    hits: list[ToolHit | ToolQuestionHit]
    filter_applied: Literal["exact", "boost"] | None
    """How the arguments filtered: by the value, however it is written; if that left nothing, not at
    all, with hits that mention the value ranked higher (`boost`). Null for a tool that does not
    filter."""
