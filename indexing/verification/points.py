"""Verifies that the store holds one point for each row of a build's ledger, and no other."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from core.leases import FRESH
from indexing.drafting import hash_payload
from indexing.id_ranges import ComparedRow, Pair, find_rowless, pair_points, read_id_range
from indexing.kinds import KINDS
from indexing.models import IndexBuild, Node, UnconfirmedWrite
from indexing.services import changing_nodes, plan_nodes, plan_standalone_rows
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.spec import EmbeddingSpec
from indexing.stores import get_store
from indexing.stores.base import StoredPoint
from indexing.unconfirmed_writes import delete_points
from indexing.verification.report import VerificationReport

ROWS_PER_SLICE = 1_000
WRITES_AT_ONCE = 1_000
FINDINGS_TO_RESYNC = {"missing", "doubled", "outdated", "mislabelled", "foreign", "uncontained"}


def verify_next_points(
    build: IndexBuild, after: UUID | None, report: VerificationReport, *, repair: bool
) -> UUID | None:
    """Verify the rows and points that follow ``after`` in the order of ids; return the last id, or
    None at the end."""
    id_range = read_id_range(build, after, limit=ROWS_PER_SLICE, with_payload=True)
    for collection, pairs in id_range.pairs.items():
        _verify_points(build, collection, pairs, report, repair)
    return id_range.end


def resolve_unconfirmed_writes(build: IndexBuild) -> int:
    """Compare points still unconfirmed after ``STRATA_UNCONFIRMED_SECONDS`` with the ledger, and
    repair those that differ; return how many. A sync worker then writes the pending nodes.

    Raises:
        StoreUnavailable: calling again continues where this ended.
    """
    report = VerificationReport(build.index_id, build.number)
    requested_before = Now() - timedelta(seconds=settings.STRATA_UNCONFIRMED_SECONDS)
    writes = UnconfirmedWrite.objects.filter(
        build=build, requested_at__lt=requested_before
    ).order_by("pk")
    for write in writes[:WRITES_AT_ONCE]:
        ids = sorted(UUID(point_id) for point_id in write.point_ids)
        for id_batch in slices(ids, ROWS_PER_STATEMENT):
            rows = Node.objects.filter(build=build, point_id__in=id_batch).order_by("point_id")
            # Read before the points: a row becomes synced after its point is written.
            compared_rows = [
                ComparedRow(*values) for values in rows.values_list(*ComparedRow._fields)
            ]
            points = get_store().retrieve(write.collection, id_batch)
            sorted_points = [points[point_id] for point_id in id_batch if point_id in points]
            pairs = pair_points(compared_rows, sorted_points)
            _verify_points(build, write.collection, pairs, report, repair=True)
        write.delete()
    return report.repaired_count


def _verify_points(
    build: IndexBuild,
    collection: str,
    pairs: Iterable[Pair],
    report: VerificationReport,
    repair: bool,
) -> None:
    """I2, I3, I4 and I6: one point per row and one row per point, with equal content."""
    model = build.spec.embedding_spec_for(
        build.collections()[collection][0]
    )  # all kinds of a collection share a model
    if get_store().has_replicas():
        pairs = _confirm_differences(collection, pairs)
    last: UUID | None = None
    rowless: list[UUID] = []
    for row, point in pairs:
        report.point_count += point is not None
        if row is None:
            assert point is not None
            if point.id == last:
                _report_doubled_point(build, collection, model, point.id, report, repair)
                continue
            rowless.append(point.id)
            continue
        last = row.point_id
        report.node_count += row.state != Node.State.DELETING
        finding = _find_mismatch(model, row, point)
        if row.state == Node.State.FAILED:
            report.failed_count += 1
        if finding is None:
            continue
        report.add_finding(finding, row.point_id)
        if repair and finding in FINDINGS_TO_RESYNC:
            _mark_row_pending(row, build, model, has_valid_vectors=finding == "mislabelled")
            report.repaired_count += 1
    orphans = find_rowless(build, rowless)
    for point_id in orphans:
        report.add_finding("orphan", point_id)
    if repair and orphans:
        delete_points(build, collection, orphans)
        report.repaired_count += len(orphans)


def _confirm_differences(collection: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield equal pairs at once. Points that differ from their rows are read again before they are
    yielded, because a replica that has just come back shows an older state."""
    differing: list[Pair] = []
    last: UUID | None = None
    for row, point in pairs:
        if row is not None:
            last = row.point_id
            is_equal = row.state != Node.State.SYNCED or (
                point is not None and hash_payload(point.payload) == row.payload_hash
            )
        else:  # a point without a row, or stored twice
            is_equal = point is not None and point.id == last
        if is_equal:
            yield row, point
        else:
            differing.append((row, point))
    if not differing:
        return
    store = get_store()
    store.wait_for_replicas()
    for part in slices(differing, ROWS_PER_STATEMENT):
        ids = [_get_id(pair) for pair in part]
        points = store.retrieve(collection, ids)
        for point_id, (row, _) in zip(ids, part, strict=True):
            if row is not None or point_id in points:
                yield row, points.get(point_id)


def _get_id(pair: Pair) -> UUID:
    row, point = pair
    if row is not None:
        return row.point_id
    assert point is not None
    return point.id


def _report_doubled_point(
    build: IndexBuild,
    collection: str,
    model: EmbeddingSpec,
    point_id: UUID,
    report: VerificationReport,
    repair: bool,
) -> None:
    report.add_finding("doubled", point_id)
    row = Node.objects.filter(build=build, point_id=point_id).first()
    if repair and row is not None:
        # Deleting by id removes every copy; which one is correct is not known.
        delete_points(build, collection, [point_id])
        _mark_row_pending(row, build, model, has_valid_vectors=False)
        report.repaired_count += 1


def _mark_row_pending(
    row: ComparedRow | Node, build: IndexBuild, model: EmbeddingSpec, *, has_valid_vectors: bool
) -> None:
    if row.artifact_id is None:
        plan_standalone_rows(row.kind, build, [row.point_id])
    else:
        plan_nodes(row.artifact_id, build)
    with changing_nodes(build.pk, [row.artifact_id]):
        Node.objects.filter(pk=row.pk).exclude(state=Node.State.DELETING).update(
            state=Node.State.PENDING,
            synced_input_hash=row.synced_input_hash if has_valid_vectors else "",
            embedding_model=model.model,
            dimension=model.dimension,
            **FRESH,
        )


def _find_mismatch(model: EmbeddingSpec, row: ComparedRow, point: StoredPoint | None) -> str | None:
    if row.state == Node.State.DELETING:
        return "deleting"
    if row.state == Node.State.FAILED:
        return None
    if row.state == Node.State.PENDING:
        is_out_of_attempts = row.attempts > settings.STRATA_MAX_ATTEMPTS
        return "uncontained" if is_out_of_attempts else "pending"
    if (row.embedding_model, row.dimension) != (model.model, model.dimension):
        return "foreign"
    if point is None:
        return "missing"
    if hash_payload(point.payload) == row.payload_hash:
        return None
    text_field = KINDS[row.kind].text_field
    [text] = Node.objects.filter(pk=row.pk).values_list("text", flat=True) or [None]
    return "mislabelled" if point.payload.get(text_field) == text else "outdated"
