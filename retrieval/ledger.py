"""The two questions every search asks the database, in plain SQL.

Composing them through the ORM takes longer than the database does, and more than is left for
them of the three milliseconds a search may cost beyond embedding and the vector store.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from documents.models import Artifact, Source
from indexing.models import Index, IndexBuild, Node


@dataclass(frozen=True, slots=True)
class LiveBuild:
    """``recipe`` is the spec as JSON text, the same to the letter until it changes."""

    index: str
    id: int
    number: int
    recipe: str


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A node whose artifact exists; ``source_text`` as it is now, None where the source is gone."""

    build_id: int
    point_id: UUID
    artifact_id: UUID
    source_id: UUID | None
    source_text: str | None


_TABLES = {
    "index": Index._meta.db_table,
    "build": IndexBuild._meta.db_table,
    "node": Node._meta.db_table,
    "artifact": Artifact._meta.db_table,
    "source": Source._meta.db_table,
}


def read_live_builds(names: Collection[str]) -> dict[str, LiveBuild | None]:
    """The builds that answer for these indexes, None where there is none; unknown names are
    left out."""
    rows = _select(
        "SELECT i.name, b.id, b.number, b.recipe FROM {index} i "
        "LEFT JOIN {build} b ON b.id = i.live_build_id WHERE i.name IN ({names})",
        names=list(names),
    )
    return {
        name: None if build_id is None else LiveBuild(name, build_id, number, recipe)
        for name, build_id, number, recipe in rows
    }


def read_ledger(build_ids: Collection[int], point_ids: Collection[UUID]) -> list[LedgerRow]:
    """The rows of these points, each with its source's text."""
    rows = _select(
        "SELECT n.build_id, n.point_id, n.artifact_id, n.source_id, s.text FROM {node} n "
        "JOIN {artifact} a ON a.id = n.artifact_id "
        "LEFT JOIN {source} s ON s.id = n.source_id "
        "WHERE n.build_id IN ({build_ids}) AND n.point_id IN ({point_ids})",
        build_ids=list(build_ids),
        point_ids=[_to_column(point_id) for point_id in point_ids],
    )
    return [
        LedgerRow(
            build_id, _to_uuid(point_id), _to_uuid(artifact_id),
            None if source_id is None else _to_uuid(source_id), text,
        )
        for build_id, point_id, artifact_id, source_id, text in rows
    ]  # fmt: skip


def _select(sql: str, **lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of ``sql``, in which each list stands by its name, in the order they are given."""
    places = {name: ",".join(["%s"] * len(values)) for name, values in lists.items()}
    with connection.cursor() as cursor:
        cursor.execute(
            sql.format(**_TABLES, **places), [each for values in lists.values() for each in values]
        )
        return cursor.fetchall()


def _to_column(value: UUID) -> UUID | str:
    """SQLite has no type for a UUID: Django keeps its 32 digits."""
    return value if connection.features.has_native_uuid_field else value.hex


def _to_uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(hex=value)
