"""Findings of research agents."""

from typing import Literal, NotRequired, TypedDict

from strata_client.types.searches import AnySearchAnswer, Hit


class EvidenceCitation(TypedDict, total=False):
    source: str
    title: str
    date: str
    authors: list[str]


class EvidenceItem(TypedDict):
    url: str  # its identity in the index
    content: str
    citation: NotRequired[EvidenceCitation]


class EvidenceVerdict(TypedDict):
    url: str
    verdict: Literal["added", "duplicate", "updated"]
    artifact_id: str  # the artifact of the finding; for a duplicate, of the stored one
    revision: int
    duplicate_of: NotRequired[str]
    similarity: NotRequired[float]  # to ``duplicate_of``


class EvidenceHit(Hit):
    url: str
    content: str
    citation: EvidenceCitation
    similarity: float


class EvidenceAnswer(AnySearchAnswer):
    hits: list[EvidenceHit]
