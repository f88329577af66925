"""Verifies builds."""

from uuid import UUID

from indexing.models import IndexBuild, Node
from indexing.point_comparison import compare_range, repair_findings
from indexing.services import retry_failed_nodes
from indexing.verification.documents import verify_documents, verify_standalone_rows
from indexing.verification.report import VerificationReport

ROWS_PER_SLICE = 1_000


def verify_build(build: IndexBuild, *, repair: bool = False) -> VerificationReport:
    """Compare documents, ledger and store of one build in both directions.

    With ``repair``, differing artifacts are planned again, differing nodes become pending and
    orphan points are removed; a sync worker then writes the pending nodes. Without it nothing is
    changed, and the report's remedies say what repair would do.

    Raises:
        StoreUnavailable: the store could not be read to its end.
    """
    report = VerificationReport(build.index_id, build.number)
    verify_documents(build, report, repair=repair)
    verify_standalone_rows(build, report, repair=repair)
    verify_points(build, report, repair=repair)
    if repair:
        failed = Node.objects.filter(build=build, state=Node.State.FAILED)
        report.repaired_count += retry_failed_nodes(failed)
    return report


def verify_points(
    build: IndexBuild, report: VerificationReport, *, repair: bool, after: UUID | None = None
) -> None:
    """I2, I3, I4 and I6, for the rows and points that follow ``after`` in the order of ids: one
    point per row and one row per point, with equal content."""
    while True:
        compared = compare_range(build, after, limit=ROWS_PER_SLICE, with_payload=True)
        report.point_count += compared.point_count
        for row in compared.rows:
            report.node_count += row.state != Node.State.DELETING
            report.failed_count += row.state == Node.State.FAILED
        for finding in compared.findings:
            report.add_finding(finding.name, finding.point_id)
        if repair:
            report.repaired_count += repair_findings(build, compared.findings)
        after = compared.end
        if after is None:
            return
