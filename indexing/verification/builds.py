"""Verifies builds: all slices in one call, or one at a time in the background."""

from dataclasses import asdict
from typing import NamedTuple
from uuid import UUID

from django.db.models.functions import Now

from core.exceptions import StrataError
from core.leases import NO_LEASE, WORKER_DIED
from indexing.models import IndexBuild, Node, Verification
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


def verify_and_save_report(build: IndexBuild, *, repair: bool = False) -> VerificationReport:
    """Verify a build, and save the report, or the error, on the build.

    Raises:
        StoreUnavailable: the store could not be read to its end.
    """
    try:
        report = verify_build(build, repair=repair)
    except StrataError as error:
        save_error(build, error)
        raise
    _save_report(build, report)
    return report


def request_verification(build: IndexBuild, *, repair: bool) -> None:
    """Let ``continue_verification`` verify this build from the start."""
    Verification.objects.update_or_create(
        build=build,
        defaults={
            "repair": repair, "stage": START.stage, "cursor": START.after, "report": None,
            "attempts": 0, "last_error": "", **NO_LEASE,
        },
    )  # fmt: skip


def continue_verification(build: IndexBuild) -> Verification | None:
    """Verify the next slice of the build's requested verification, and save the report after the
    last; return the verification, without a stage if it is finished, or None if there is nothing to
    do or another worker does it.

    Raises:
        StoreUnavailable: calling again continues where this ended.
    """
    claim = Verification.objects.filter(build=build).claim()
    if claim is None:
        return None
    verification = claim.rows.get()
    if verification.attempts > Verification.max_attempts():
        save_error(build, verification.last_error or WORKER_DIED)
        claim.rows.delete()
        return None
    report = VerificationReport(
        **(verification.report or {"index": build.index_id, "build": build.number})
    )
    position = Position(verification.stage, verification.cursor)
    try:
        with claim.renewed():
            following = _verify_slice(build, position, report, repair=verification.repair)
    except StrataError:
        claim.give_back()
        raise
    except Exception as error:
        claim.rows.update(last_error=f"{type(error).__name__}: {error}", **NO_LEASE)
        raise
    if following is not None:
        claim.rows.update(
            stage=following.stage, cursor=following.after, report=asdict(report), attempts=0,
            **NO_LEASE,
        )  # fmt: skip
    elif claim.rows.delete()[0]:
        _save_report(build, report)
    verification.stage = "" if following is None else following.stage
    return verification


def save_error(build: IndexBuild, error: object) -> None:
    """Save why the verification stopped on the build."""
    IndexBuild.objects.filter(pk=build.pk).update(verified_at=Now(), report={"error": str(error)})


def _save_report(build: IndexBuild, report: VerificationReport) -> None:
    IndexBuild.objects.filter(pk=build.pk).update(verified_at=Now(), report=report.as_json())


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
