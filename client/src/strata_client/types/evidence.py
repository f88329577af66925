"""Findings of research agents."""

from typing import Literal, NotRequired, TypedDict

from strata_client.types.documents import LineError
from strata_client.types.searches import AnySearchAnswer, Hit


class EvidenceCitation(TypedDict, total=False):
    url: str
    source: str
    title: str
    date: str
    authors: list[str]


class EvidenceItem(TypedDict):
    url: NotRequired[str]  # its identity in the index; by default the citation's
    content: str
    citation: NotRequired[EvidenceCitation]


class SimilarFinding(TypedDict):
    artifact_id: str
    similarity: float


class EvidenceVerdict(TypedDict):
    url: str
    verdict: Literal["added", "duplicate", "updated", "rejected"]
    artifact_id: NotRequired[str]  # of the finding; for a duplicate, of the stored one
    revision: NotRequired[int]
    duplicate_of: NotRequired[str]
    similarity: NotRequired[float]  # to ``duplicate_of``
    similar_to: NotRequired[list[SimilarFinding]]  # near it, and say something else
    error: NotRequired[LineError]  # why it was rejected


class EvidenceReference(TypedDict):
    url: str
    content: str
    citation: EvidenceCitation
    similarity: float
    added_at: str


class EvidenceHit(Hit):
    url: str
    content: str
    citation: EvidenceCitation
    similarity: float
    references: list[EvidenceReference]  # findings that repeat it
    similar_to: list[SimilarFinding]  # near it, and say something else


class EvidenceAnswer(AnySearchAnswer):
    hits: list[EvidenceHit]
