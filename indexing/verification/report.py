"""The findings of a verification."""

from dataclasses import asdict, dataclass, field
from typing import Any

MAX_EXAMPLES_PER_FINDING = 5  # per type of finding

REMEDY_NONE_NEEDED = "do nothing: this resolves itself"
REMEDY_REPLAN = "plan them again"
REMEDY_REEMBED = "embed and write them again"

# Finding -> the invariant it violates, its meaning, and what repair does about it.
FINDINGS = {
    "unparsed": ("I8", "artifacts that are not parsed yet", REMEDY_NONE_NEEDED),
    "unwritten": (
        "I1",
        "artifacts with summaries, questions or chunks that a model must still write or cut",
        REMEDY_NONE_NEEDED,
    ),
    "unplanned": (
        "I1",
        "artifacts, or rows with a node of their own, whose ledger rows are out of date",
        REMEDY_REPLAN,
    ),
    "misplaced": ("I4", "chunks whose text is not at their offsets in the source", REMEDY_REPLAN),
    "duplicate": ("I2", "chunks at the same place as another", REMEDY_REPLAN),
    "pending": ("I2", "nodes whose points are not written yet", REMEDY_NONE_NEEDED),
    "deleting": ("I3", "points that are still to be removed", REMEDY_NONE_NEEDED),
    "missing": ("I2", "nodes without the point they should have", REMEDY_REEMBED),
    "orphan": ("I3", "points without a row in the ledger", "remove them"),
    "doubled": ("I2", "points stored twice", "remove both and " + REMEDY_REEMBED),
    "outdated": ("I4", "points whose text differs from their row", REMEDY_REEMBED),
    "mislabelled": (
        "I4",
        "points with the right text whose other data differs from their row",
        "write their payloads again",
    ),
    "foreign": ("I6", "nodes embedded by another model than their build's", REMEDY_REEMBED),
    "uncontained": ("I10", "nodes that are retried after their last attempt", REMEDY_REEMBED),
}


@dataclass
class VerificationReport:
    """Counts and findings of ``verify`` for one build."""

    index: str
    build: int
    artifact_count: int = 0
    node_count: int = 0
    point_count: int = 0
    failed_count: int = 0  # nodes given up with their error; not a finding
    findings: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    repaired_count: int = 0

    @property
    def is_sound(self) -> bool:
        return not self.findings

    def add_finding(self, finding: str, example: object) -> None:
        self.findings[finding] = self.findings.get(finding, 0) + 1
        named = self.examples.setdefault(finding, [])
        if len(named) < MAX_EXAMPLES_PER_FINDING:
            named.append(str(example))

    def as_json(self) -> dict[str, Any]:
        remedies = {sort: FINDINGS[sort][2] for sort in self.findings}
        return {**asdict(self), "is_sound": self.is_sound, "remedies": remedies}
