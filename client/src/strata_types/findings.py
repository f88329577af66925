"""Findings of research agents."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from strata_types.common import ErrorContent
from strata_types.searches import AnySearchAnswer, Hit


class EvidenceCitation(TypedDict, total=False):
    """The publication a finding comes from."""

    url: str
    source: str
    """Who published it."""
    title: str
    date: str
    authors: list[str]


class EvidenceItem(TypedDict):
    url: NotRequired[str]
    """Its identity in the index; by default the citation's."""
    content: str
    citation: NotRequired[EvidenceCitation]


class EvidenceSearchOptions(TypedDict, total=False):
    limit: int | None
    min_similarity: float | None
    min_revision: int | None
    """Of a verdict."""


class SimilarFinding(TypedDict):
    artifact_id: str
    similarity: float
    """Cosine of the two findings."""


class NearFinding(SimilarFinding):
    url: str
    content: str


class EvidenceVerdict(TypedDict):
    url: str
    verdict: Literal["added", "duplicate", "updated", "rejected"]
    artifact_id: NotRequired[str]
    """The finding's artifact; for a duplicate, the artifact stored before; absent if rejected."""
    revision: NotRequired[int]
    """Use it as min_revision of searches; absent if rejected."""
    duplicate_of: NotRequired[str]
    similarity: NotRequired[float]
    """Cosine to the stored finding, if a duplicate."""
    similar_to: NotRequired[list[SimilarFinding]]
    """Stored findings that are near an added or updated one and say something else, most similar
    first."""
    error: NotRequired[ErrorContent]
    """Only if rejected; the others are stored."""


class EvidenceVerdicts(TypedDict):
    verdicts: list[EvidenceVerdict]
    """In the order given."""


class EvidenceReference(TypedDict):
    url: str
    content: str
    citation: EvidenceCitation
    """As received."""
    similarity: float
    """Cosine to the finding that it repeats."""
    added_at: str


class EvidenceHit(Hit):
    url: str
    content: str
    """The whole finding; text is its most similar chunk."""
    citation: EvidenceCitation
    """As received."""
    similarity: float
    """Cosine of its most similar chunk."""
    references: list[EvidenceReference]
    """Findings that repeat this one, oldest first."""
    similar_to: list[NearFinding]
    """Up to ten findings that are near this one and have other words, most similar first. Some may
    say the same, others the opposite."""


class EvidenceAnswer(AnySearchAnswer):
    hits: list[EvidenceHit]
