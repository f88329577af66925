"""Compares rows of a build's ledger with points of the vector store, and repairs what differs.

``strata verify`` compares all of them, the audit the next few each minute (``point_audit``). One
slice is in memory at a time. What is written while it is compared is no finding.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from core.text import hash_text
from indexing.drafting import hash_payload
from indexing.kinds import KINDS
from indexing.models import IndexBuild, Node, NodeQuerySet
from indexing.services import plan_nodes, plan_standalone_rows, set_pending
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.spec import EmbeddingSpec
from indexing.stores import get_store
from indexing.stores.base import StoredPoint
from indexing.unconfirmed_writes import delete_points

TO_REPLAN = {"outdated", "mislabelled", "foreign", "uncontained"}  # their rows may be wrong, too
TO_WRITE = {*TO_REPLAN, "missing", "doubled"}
# Deleting by id removes both copies of a doubled point: which one is correct is not known.
TO_REMOVE = {"orphan", "doubled"}
TO_CONFIRM = {"orphan", "missing", "outdated", "mislabelled"}  # the rest is seen in rows


class ComparedRow(NamedTuple):
    """The columns of a node that are compared; model instances would take most of the time."""

    pk: int
    point_id: UUID
    artifact_id: UUID | None  # None: a standalone node
    kind: str
    state: str
    attempts: int
    embedding_model: str
    dimension: int
    text_hash: str | None
    payload_hash: str
    synced_at: datetime | None


class Finding(NamedTuple):
    name: str  # a key of ``verification.FINDINGS``
    collection: str
    point_id: UUID
    row: ComparedRow | None  # None: an orphan


@dataclass(slots=True)
class Comparison:
    """The result for one slice."""

    end: UUID | None = None  # the last id; None: there are no more rows or points
    rows: list[ComparedRow] = field(default_factory=list)
    point_count: int = 0
    findings: list[Finding] = field(default_factory=list)
    has_changed: bool = False  # a difference is unexplained, because its row changed meanwhile


def compare_range(
    build: IndexBuild, after: UUID | None, *, limit: int, with_payload: bool
) -> Comparison:
    """Compare the next range after this id: at most ``limit`` rows, and the points among them.
    Without ``with_payload`` only whether a point is there is compared, not its content.

    The range ends earlier where the store holds many points without rows, so that memory and time
    are bounded. No query stays open while the caller writes: an open SQLite read would not see the
    writes.
    """
    nodes = Node.objects.filter(build=build).order_by("point_id")
    if after is not None:
        nodes = nodes.filter(point_id__gt=after)
    # Rows first: a row is written before its point, and becomes synced after it.
    rows = _read_rows(nodes[:limit])
    end = rows[-1].point_id if len(rows) == limit else None
    points_by_collection: dict[str, list[StoredPoint]] = {}
    for collection, kinds in build.collections().items():
        row_count = sum(row.kind in kinds for row in rows)
        batch = limit if end is None else row_count + max(1, limit // 10)
        pages = get_store().scroll(collection, after=after, batch=batch, with_payload=with_payload)
        points = points_by_collection[collection] = next(pages, [])
        if len(points) >= batch and (end is None or points[-1].id < end):
            end = points[-1].id
    comparison = Comparison(end)
    for collection, kinds in build.collections().items():
        its_rows = [row for row in rows if row.kind in kinds]
        points = points_by_collection[collection]
        if end is not None:
            its_rows = [row for row in its_rows if row.point_id <= end]
            points = [point for point in points if point.id <= end]
        _compare(build, collection, its_rows, points, comparison, with_payload)
    return comparison


def compare_points(build: IndexBuild, collection: str, point_ids: Sequence[UUID]) -> Comparison:
    """Compare these points and their rows, ``ROWS_PER_STATEMENT`` at most."""
    rows = _read_rows(Node.objects.filter(build=build, point_id__in=point_ids))
    points = get_store().retrieve(collection, point_ids).values()
    comparison = Comparison()
    _compare(build, collection, rows, list(points), comparison, with_payload=True)
    return comparison


def repair_findings(build: IndexBuild, findings: Iterable[Finding], **values: Any) -> int:
    """Remove points, and set rows pending with these other ``values``; return how many findings
    that repairs. A sync worker writes the points."""
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.name in TO_WRITE | TO_REMOVE:
            groups[finding.name, finding.collection].append(finding)
    for (name, collection), group in groups.items():
        if name in TO_REMOVE:
            delete_points(build, collection, [finding.point_id for finding in group])
        rows = [finding.row for finding in group if finding.row is not None]
        if name in TO_REPLAN:
            _plan_again(build, rows)
        model = _get_model(build, collection)
        without_vectors = {} if name == "mislabelled" else {"synced_input_hash": ""}
        for part in slices(rows, ROWS_PER_STATEMENT):
            set_pending(
                Node.objects.filter(pk__in=[row.pk for row in part]),
                embedding_model=model.model,
                dimension=model.dimension,
                **without_vectors,
                **values,
            )
    return sum(len(group) for group in groups.values())


def _read_rows(nodes: NodeQuerySet) -> list[ComparedRow]:
    return [ComparedRow(*values) for values in nodes.values_list(*ComparedRow._fields)]


def _get_model(build: IndexBuild, collection: str) -> EmbeddingSpec:
    # All kinds of a collection share a model.
    return build.spec.embedding_spec_for(build.collections()[collection][0])


def _compare(
    build: IndexBuild,
    collection: str,
    rows: Sequence[ComparedRow],
    points: Sequence[StoredPoint],
    comparison: Comparison,
    with_payload: bool,
) -> None:
    """Add the rows and points of one collection to a comparison.

    Points that differ are read again, because a replica that has just come back shows an older
    state, and then their rows: a row that is still the same required the same point all the time.
    """
    model = _get_model(build, collection)
    rows_by_id = {row.point_id: row for row in rows}
    points_by_id = {point.id: point for point in points}
    comparison.rows += rows
    comparison.point_count += len(points)

    names = {
        point_id: _find_difference(
            rows_by_id.get(point_id), points_by_id.get(point_id), model, with_payload
        )
        for point_id in rows_by_id | points_by_id
    }
    differing = [point_id for point_id, name in names.items() if name in TO_CONFIRM]
    # A known loss was seen twice; waiting at each slice would delay its restoration.
    if differing and (with_payload or build.lost_at is None):
        get_store().wait_for_replicas()
    for part in slices(differing, ROWS_PER_STATEMENT):
        points_now = get_store().retrieve(collection, part)
        nodes = Node.objects.filter(build=build, point_id__in=part)
        rows_now = {row.point_id: row for row in _read_rows(nodes)}
        for point_id in part:
            row, point_now = rows_by_id.get(point_id), points_now.get(point_id)
            comparison.point_count += (point_now is not None) - (point_id in points_by_id)
            names[point_id] = _find_difference(row, point_now, model, with_payload)
            if rows_now.get(point_id) != row:
                names[point_id], comparison.has_changed = None, True
    doubled = [
        (point.id, "doubled")
        for point, following in pairwise(points)
        if point.id == following.id and point.id in rows_by_id
    ]
    comparison.findings += [
        Finding(name, collection, point_id, rows_by_id.get(point_id))
        for point_id, name in [*names.items(), *doubled]
        if name is not None
    ]


def _find_difference(
    row: ComparedRow | None, point: StoredPoint | None, model: EmbeddingSpec, with_payload: bool
) -> str | None:
    if row is None:
        return None if point is None else "orphan"
    if row.state == Node.State.DELETING:
        return "deleting"
    if row.state == Node.State.FAILED:
        return None
    if row.state == Node.State.PENDING:
        is_out_of_attempts = row.attempts > settings.STRATA_MAX_ATTEMPTS
        return "uncontained" if is_out_of_attempts else "pending"
    if point is None:
        return "missing"
    if (row.embedding_model, row.dimension) != (model.model, model.dimension):
        return "foreign"
    if not with_payload or hash_payload(point.payload) == row.payload_hash:
        return None
    text = str(point.payload.get(KINDS[row.kind].text_field))
    return "mislabelled" if hash_text(text) == row.text_hash else "outdated"


def _plan_again(build: IndexBuild, rows: Sequence[ComparedRow]) -> None:
    for artifact_id in {row.artifact_id for row in rows if row.artifact_id is not None}:
        plan_nodes(artifact_id, build)
    for row in rows:
        if row.artifact_id is None:
            plan_standalone_rows(row.kind, build, [row.point_id])
