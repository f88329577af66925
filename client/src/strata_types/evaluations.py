"""Judgements of hits, and evaluations of searches with them."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from strata_types.common import AnyList, ErrorContent


class EvaluationOptions(TypedDict, total=False):
    systems: Sequence[str] | None
    """Modes of search and query pipelines; by default every mode of the index."""
    against: str | None
    """The system that the others are compared with."""
    measures: Sequence[str] | None
    """In ir_measures' notation, such as `nDCG@10`."""
    queries: Mapping[str, str] | None
    """Texts by query id; by default the index's golden queries."""
    qrels: Mapping[str, Mapping[str, int]] | None
    """The relevance of documents, named by external id or id, by query id."""


class Difference(TypedDict):
    baseline: float
    system: float
    difference: float
    low: float
    """Lower end of the 95 % interval, by paired bootstrap."""
    high: float
    is_significant: bool


class SystemResult(TypedDict):
    system: str
    measures: dict[str, float]
    p50_ms: float
    """Latency of a first page of ten hits."""
    p95_ms: float
    differences: NotRequired[dict[str, Difference]]
    """Differences to the baseline, by measure."""


class EvaluationProgress(TypedDict):
    done: int
    total: int
    """Searches to run: queries times systems."""


class Evaluation(TypedDict):
    id: str
    index: str
    build: int | None
    state: Literal["queued", "running", "done", "failed"]
    systems: list[str]
    against: str | None
    measures: list[str]
    judgements: Literal["given", "golden"]
    """Where the judgements come from."""
    judgements_hash: str
    """Runs with the same hash are comparable."""
    queries: int
    """Number of queries."""
    progress: EvaluationProgress
    results: list[SystemResult]
    error: ErrorContent | None
    asked_by: str
    created_at: str
    finished_at: str | None


class EarlierEvaluation(TypedDict):
    id: str
    build: int | None
    finished_at: str
    results: list[SystemResult]


class EvaluationDetail(Evaluation):
    earlier: list[EarlierEvaluation]
    """Earlier runs of the same queries on this index, oldest first."""


class EvaluationList(AnyList):
    results: list[Evaluation]


class Judgement(TypedDict):
    id: str
    index: str
    query: str
    artifact_id: str
    page_index: int | None
    """Counted from 0; null for the artifact as a whole."""
    node_id: str | None
    verdict: Literal["good", "bad"]
    judged_by: str
    """Name of the key or user; empty for others who do not see all documents."""
    judged_at: str


class JudgementList(AnyList):
    results: list[Judgement]
