"""Reads a build's rows and points side by side, one range of point ids at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from indexing.models import IndexBuild, Node
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.stores import get_store
from indexing.stores.base import StoredPoint


class ComparedRow(NamedTuple):
    """The columns of a node that are compared; creating model instances would take most of the
    time."""

    pk: int
    point_id: UUID
    artifact_id: UUID | None  # None: a standalone node
    kind: str
    state: str
    attempts: int
    embedding_model: str
    dimension: int
    payload_hash: str
    synced_input_hash: str
    synced_at: datetime | None


Pair = tuple[ComparedRow | None, StoredPoint | None]  # of the same id


@dataclass(frozen=True, slots=True)
class IdRange:
    """All rows and points with ids up to ``end``; None: up to the last of all."""

    pairs: dict[str, list[Pair]]  # collection -> pairs by ascending id
    end: UUID | None


def read_id_range(
    build: IndexBuild, after: UUID | None, *, limit: int, with_payload: bool
) -> IdRange:
    """Read the next range after this id: at most ``limit`` rows, and the points among them.

    The range ends earlier where the store holds many points without rows, so that memory and time
    are bounded. No query stays open while the caller writes: an open SQLite read would not see the
    writes.
    """
    found = Node.objects.filter(build=build).order_by("point_id")
    if after is not None:
        found = found.filter(point_id__gt=after)
    # Rows first: a row becomes synced after its point is written.
    rows = [ComparedRow(*row) for row in found.values_list(*ComparedRow._fields)[:limit]]
    end = rows[-1].point_id if len(rows) == limit else None
    rows_by_collection: dict[str, list[ComparedRow]] = {}
    points_by_collection: dict[str, list[StoredPoint]] = {}
    for collection, kinds in build.collections().items():
        its_rows = rows_by_collection[collection] = [row for row in rows if row.kind in kinds]
        batch = limit if end is None else len(its_rows) + max(1, limit // 10)
        pages = get_store().scroll(collection, after=after, batch=batch, with_payload=with_payload)
        points = points_by_collection[collection] = next(pages, [])
        if len(points) >= batch and (end is None or points[-1].id < end):
            end = points[-1].id
    pairs = {
        collection: pair_points(
            [row for row in its_rows if end is None or row.point_id <= end],
            [point for point in points_by_collection[collection] if end is None or point.id <= end],
        )
        for collection, its_rows in rows_by_collection.items()
    }
    return IdRange(pairs, end)


def pair_points(rows: Iterable[ComparedRow], points: Iterable[StoredPoint]) -> list[Pair]:
    """Merge rows and points, both ascending by id, into pairs of the same id."""
    pairs: list[Pair] = []
    rows, points = iter(rows), iter(points)
    row, point = next(rows, None), next(points, None)
    while row is not None or point is not None:
        if point is None or (row is not None and row.point_id < point.id):
            pairs.append((row, None))
            row = next(rows, None)
        elif row is None or point.id < row.point_id:
            pairs.append((None, point))
            point = next(points, None)
        else:
            pairs.append((row, point))
            row, point = next(rows, None), next(points, None)
    return pairs


def find_rowless(build: IndexBuild, point_ids: Sequence[UUID]) -> list[UUID]:
    """Those of these points that have no row now: one may have been added since the rows were
    read."""
    ids_with_row: set[UUID] = set()
    for part in slices(point_ids, ROWS_PER_STATEMENT):
        rows = Node.objects.filter(build=build, point_id__in=part)
        ids_with_row.update(rows.values_list("point_id", flat=True))
    return [point_id for point_id in point_ids if point_id not in ids_with_row]
