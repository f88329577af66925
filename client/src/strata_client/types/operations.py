"""Verification, regenerations and evaluations."""

from typing import Literal, NotRequired, TypedDict

from strata_client.types.documents import AnyList, LineError


class VerificationReport(TypedDict):
    index: str
    build: int
    is_sound: bool
    artifact_count: int
    node_count: int
    point_count: int
    failed_count: int
    repaired_count: int
    findings: dict[str, int]
    examples: dict[str, list[str]]
    remedies: dict[str, str]


class IndexVerification(VerificationReport):
    beside: list[VerificationReport]  # of the other builds


# --- Regenerations ---------------------------------------------------------------------------


class RegenerationOptions(TypedDict, total=False):
    type: str | None
    category: str | None  # of relationship types
    index: str | None  # None: every index
    artifacts: list[str] | None  # ids
    only_missing: bool | None
    stale: bool | None
    limit: int | None
    offset: int | None


class RegenerationArtifactCounts(TypedDict):
    total: int
    done: int
    made_due: int
    failed: int
    awaited: int
    refused: int


class RegenerationTextCounts(TypedDict):
    made_due: int


class RegenerationNodeCounts(TypedDict):
    made_due: int
    pending: int
    failed: int


class Regeneration(TypedDict):
    id: str
    state: Literal["running", "done", "cancelled", "failed"]
    index: str | None
    types: list[str]
    category: str  # of relationship types; empty: all
    only_missing: bool
    stale: bool
    limit: int | None
    offset: int
    artifacts: RegenerationArtifactCounts
    texts: RegenerationTextCounts
    nodes: RegenerationNodeCounts
    is_synced: bool  # it has ended, and all work it made due is done
    artifacts_per_second: float | None
    eta_seconds: float | None
    problem: str | None
    last_error: str | None
    started_at: str
    finished_at: str | None


class RegenerationList(AnyList):
    results: list[Regeneration]


# --- Evaluations -----------------------------------------------------------------------------


class Difference(TypedDict):
    baseline: float
    system: float
    difference: float
    low: float  # of the 95 % interval
    high: float
    is_significant: bool


class SystemResult(TypedDict):
    system: str
    measures: dict[str, float]
    p50_ms: float
    p95_ms: float
    differences: NotRequired[dict[str, Difference]]


class EvaluationProgress(TypedDict):
    done: int
    total: int


class Evaluation(TypedDict):
    id: str
    index: str
    build: int | None
    state: Literal["queued", "running", "done", "failed"]
    systems: list[str]
    against: str | None
    measures: list[str]
    judgements: Literal["given", "golden"]
    judgements_hash: str  # runs with the same hash are comparable
    queries: int
    progress: EvaluationProgress
    results: list[SystemResult]
    error: LineError | None
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


class EvaluationList(AnyList):
    results: list[Evaluation]
