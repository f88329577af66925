"""The two database queries of every search, in plain SQL: the live builds, and the ledger rows of
the points that were found.

Apart from embedding and the vector store, a search may take three milliseconds. Composing these
queries with the ORM takes longer than the database needs to answer them.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from access.grants import Grant
from documents.models import Artifact, Page, Reading, Source
from indexing.models import Index, IndexBuild, Node, SearchSettings
from indexing.spec import IndexSpec, read_stored_spec
from summaries.models import Summary


@dataclass(frozen=True, slots=True)
class LiveBuild:
    """A build to search, and what the search may see of it."""

    index: str
    id: int
    number: int
    has_lost_points: bool
    stored_spec: tuple[str, str | None, str | None]  # as ``IndexBuild.stored_spec``
    grant: Grant

    @property
    def spec(self) -> IndexSpec:
        """The recipe together with the search settings of the index. Raises ``UnreadableRecipe``:
        another release of Strata stored a recipe that this one cannot read."""
        return read_stored_spec(*self.stored_spec)


class LedgerRow(NamedTuple):
    """A node whose artifact exists; ``source_text`` is current, None if the source was deleted.
    ``stored_groups``: the artifact's current groups, as JSON.

    Ids that are only compared are the integer value of their UUID: creating and hashing a ``UUID``
    takes ten times as long.
    """

    build_id: int
    point_int: int
    raw_artifact_id: UUID | str
    stored_groups: str
    source_int: int | None
    source_text: str | None

    @property
    def artifact_id(self) -> UUID:
        return _to_uuid(self.raw_artifact_id)


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A summary's node whose artifact exists. ``stored_groups`` as in ``LedgerRow``.

    ``input_hash`` is the hash of the summary's current input. For a page summary the input is the
    page's text (None if the page was deleted), for an artifact summary the summaries of its pages
    (None if there are none). ``is_outdated``: a page of the artifact has no summary of its current
    text.
    """

    build_id: int
    point_id: UUID
    kind: str
    artifact_id: UUID
    stored_groups: str
    input_hash: str | None
    is_outdated: bool


_TABLES = {
    "index": Index._meta.db_table,
    "search_settings": SearchSettings._meta.db_table,
    "build": IndexBuild._meta.db_table,
    "node": Node._meta.db_table,
    "artifact": Artifact._meta.db_table,
    "page": Page._meta.db_table,
    "reading": Reading._meta.db_table,
    "source": Source._meta.db_table,
    "summary": Summary._meta.db_table,
}

# Django defines the SHA256 function of SQLite.
_SHA256 = {"sqlite": "SHA256({})", "postgresql": "encode(sha256(convert_to({}, 'UTF8')), 'hex')"}


def read_live_builds(names: Collection[str], grant: Grant) -> dict[str, LiveBuild | None]:
    """Map index names to their live builds, or None; unknown names are left out."""
    rows = _run_query(
        "SELECT i.name, b.id, b.number, b.lost_at IS NOT NULL, b.recipe, s.content, "
        "i.store_settings FROM {index} i "
        "LEFT JOIN {build} b ON b.id = i.live_build_id "
        "LEFT JOIN {search_settings} s ON s.id = i.search_settings_id WHERE i.name IN ({names})",
        names=list(names),
    )
    return {
        name: None
        if build_id is None
        else LiveBuild(name, build_id, number, bool(is_lost), tuple(stored), grant)
        for name, build_id, number, is_lost, *stored in rows
    }


def read_ledger_rows(build_ids: Collection[int], point_ids: Collection[UUID]) -> list[LedgerRow]:
    """The rows of these points, each with its source's text."""
    rows = _run_query(
        "SELECT n.build_id, n.point_id, n.artifact_id, a.groups, n.source_id, s.text FROM {node} n "
        "JOIN {artifact} a ON a.id = n.artifact_id "
        "LEFT JOIN {source} s ON s.id = n.source_id "
        "WHERE n.build_id IN ({build_ids}) AND n.point_id IN ({point_ids})",
        build_ids=list(build_ids),
        point_ids=_to_uuid_parameters(point_ids),
    )
    return [
        LedgerRow(
            build_id, _to_int(point_id), artifact_id, groups,
            None if source_id is None else _to_int(source_id), text,
        )
        for build_id, point_id, artifact_id, groups, source_id, text in rows
    ]  # fmt: skip


def read_summary_rows(build_ids: Collection[int], point_ids: Collection[UUID]) -> list[SummaryRow]:
    """The rows of these points of summaries.

    The database hashes the page's current text, because a bulk ``update()`` does not update
    ``content_hash``, and a page may be as long as a book, too long to fetch.
    """
    rows = _run_query(
        "SELECT n.build_id, n.point_id, n.kind, n.artifact_id, a.groups, "
        "CASE WHEN n.kind = 'page_summary' THEN {page_hash} ELSE s.input_hash END, "
        "CASE WHEN n.kind = 'artifact_summary' THEN EXISTS ("
        "SELECT 1 FROM {page} q WHERE q.artifact_id = n.artifact_id AND q.reading = COALESCE(("
        "SELECT MAX(r.number) FROM {reading} r JOIN {build} b ON r.number <= b.reading "
        "WHERE b.id = n.build_id AND r.artifact_id = n.artifact_id), 0) AND NOT EXISTS ("
        "SELECT 1 FROM {summary} c WHERE c.build_id = n.build_id AND c.page_id = q.id "
        "AND c.written_input_hash = q.content_hash) AND q.text <> '') ELSE 1 = 0 END "
        "FROM {node} n "
        "JOIN {artifact} a ON a.id = n.artifact_id "
        "LEFT JOIN {page} p ON p.id = n.page_id AND n.kind = 'page_summary' "
        "LEFT JOIN {summary} s ON s.build_id = n.build_id AND s.artifact_id = n.artifact_id "
        "AND s.page_id IS NULL AND n.kind = 'artifact_summary' "
        "WHERE n.build_id IN ({build_ids}) AND n.point_id IN ({point_ids})",
        build_ids=list(build_ids),
        point_ids=_to_uuid_parameters(point_ids),
    )
    return [
        SummaryRow(
            build_id, _to_uuid(point_id), kind, _to_uuid(artifact_id), groups, input_hash,
            bool(is_outdated),
        )
        for build_id, point_id, kind, artifact_id, groups, input_hash, is_outdated in rows
    ]  # fmt: skip


def includes_stored_groups(grant: Grant, stored_groups: str) -> bool:
    """Whether the grant includes an artifact of these groups, given as JSON."""
    return grant.groups is None or grant.includes_groups(json.loads(stored_groups))


def _run_query(sql: str, **values_by_name: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run ``sql``, replacing each ``{name}`` by the list of that name.

    Pass the lists in the order in which ``sql`` uses them.
    """
    counts = tuple((name, len(values)) for name, values in values_by_name.items())
    with connection.cursor() as cursor:
        cursor.execute(
            _expand_placeholders(sql, counts, connection.vendor),
            [each for values in values_by_name.values() for each in values],
        )
        return cursor.fetchall()


@lru_cache(maxsize=64)
def _expand_placeholders(sql: str, counts: tuple[tuple[str, int], ...], vendor: str) -> str:
    """Replace each ``{name}`` by its placeholders. Cached: most searches need the same counts."""
    placeholders = {name: ",".join(["%s"] * count) for name, count in counts}
    return sql.format(**_TABLES, **placeholders, page_hash=_SHA256[vendor].format("p.text"))


def _to_uuid_parameters(values: Collection[UUID]) -> list[UUID] | list[str]:
    """SQLite has no UUID type: Django stores the 32 hexadecimal digits."""
    if connection.features.has_native_uuid_field:
        return list(values)
    return [value.hex for value in values]


def _to_int(value: UUID | str) -> int:
    return value.int if isinstance(value, UUID) else int(value, 16)


def _to_uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(hex=value)
