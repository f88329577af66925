"""Verifies builds, slice by slice."""

from typing import NamedTuple
from uuid import UUID

from indexing.models import IndexBuild, Node
from indexing.services import retry_failed_nodes
from indexing.verification.documents import verify_next_documents, verify_standalone_rows
from indexing.verification.points import verify_next_points
from indexing.verification.report import VerificationReport


class Position(NamedTuple):
    """The next slice of a verification; its stages are documents, then standalone, then points."""

    stage: str
    after: UUID | None  # the last id of the stage that was verified


START = Position("documents", None)


def verify_build(build: IndexBuild, *, repair: bool = False) -> VerificationReport:
    """Compare documents, ledger and store of one build in both directions.

    With ``repair``, differing artifacts are planned again, differing nodes become pending and
    orphan points are removed; a sync worker then writes the pending nodes. Without it nothing is
    changed, and the report's remedies say what repair would do.

    Raises:
        StoreUnavailable: the store could not be read to its end.
    """
    report = VerificationReport(build.index_id, build.number)
    position: Position | None = START
    while position is not None:
        position = _verify_slice(build, position, report, repair=repair)
    return report


def _verify_slice(
    build: IndexBuild, position: Position, report: VerificationReport, *, repair: bool
) -> Position | None:
    """Verify one slice; return the next, or None after the last."""
    stage, after = position
    if stage == "documents":
        end = verify_next_documents(build, after, report, repair=repair)
        return Position("standalone" if end is None else stage, end)
    if stage == "standalone":
        verify_standalone_rows(build, report, repair=repair)
        return Position("points", None)
    end = verify_next_points(build, after, report, repair=repair)
    if end is not None:
        return Position(stage, end)
    if repair:
        failed = Node.objects.filter(build=build, state=Node.State.FAILED)
        report.repaired_count += retry_failed_nodes(failed)
    return None
