"""Determines which builds, kinds, artifacts and standalone rows a regeneration covers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.drafting import get_drafter, get_standalone_drafters
from indexing.kinds import KINDS
from indexing.models import MADE_FROM_ID, NOT_SYNCED, IndexBuild, Node, NodeQuerySet, Regeneration
from indexing.point_comparison import ComparedRow, compare_points
from indexing.services import find_unplanned_artifacts, find_unplanned_rows
from indexing.services.batches import ROWS_PER_STATEMENT

ROWS_PER_STEP = 100  # artifacts or standalone rows examined together


def find_regenerated_artifacts(regeneration: Regeneration) -> QuerySet[Artifact]:
    artifacts = Artifact.objects.filter(state=Artifact.State.PARSED)
    if regeneration.index_id is not None:
        artifacts = artifacts.filter(index=regeneration.index_id)
    return artifacts


def find_regenerated_ids(regeneration: Regeneration, *, after: UUID | None = None) -> QuerySet[Any]:
    """Ids, in order, of the artifacts and standalone rows that it covers."""
    has_artifacts = any(
        not KINDS[kind].is_standalone
        for _, kinds in find_builds_and_kinds(regeneration)
        for kind in kinds
    )
    rows = find_standalone_rows(regeneration, category=regeneration.category)
    artifacts = find_regenerated_artifacts(regeneration)
    parts: list[QuerySet[Any]] = [artifacts if has_artifacts else artifacts.none(), *rows.values()]
    if after is not None:
        parts = [part.filter(pk__gt=after) for part in parts]
    first, *others = [part.order_by().values_list("pk", flat=True) for part in parts]
    return first.union(*others, all=True).order_by("pk") if others else first.order_by("pk")


def find_standalone_rows(
    regeneration: Regeneration, *, category: str
) -> dict[tuple[str, str], QuerySet[Any]]:
    """Kind and index -> the rows of standalone kinds that it covers, of one category if that is not
    empty."""
    found: dict[tuple[str, str], QuerySet[Any]] = {}
    for build, kinds in find_builds_and_kinds(regeneration):
        for kind, drafter in get_standalone_drafters(build).items():
            if kind in kinds:
                rows = drafter.find_rows(build.index_id)
                found[kind, build.index_id] = rows.filter(category=category) if category else rows
    return found


def find_next_ids(regeneration: Regeneration) -> list[UUID]:
    cursor, size = regeneration.cursor, ROWS_PER_STEP
    if is_limit_reached(regeneration):
        return []
    start = regeneration.offset if cursor is None else 0
    if regeneration.artifact_ids is not None:
        named = sorted(UUID(each) for each in regeneration.artifact_ids)
        following = [each for each in named if cursor is None or each > cursor]
        return following[start : start + size]
    return list(find_regenerated_ids(regeneration, after=cursor)[start : start + size])


def is_limit_reached(regeneration: Regeneration) -> bool:
    """Whether something of as many artifacts or rows as requested was regenerated."""
    return regeneration.limit is not None and regeneration.due_artifact_count >= regeneration.limit


@dataclass(slots=True)
class RegenerationScope:
    """What one batch of a regeneration does, by the id of an artifact or a standalone row."""

    builds: dict[UUID, list[tuple[IndexBuild, list[str]]]]  # with the kinds to regenerate
    ids: set[UUID]  # those with something to regenerate
    nodes_without_points: dict[UUID, list[int]]  # its synced nodes without a point

    @classmethod
    def from_ids(cls, regeneration: Regeneration, ids: Sequence[UUID]) -> "RegenerationScope":
        scope = cls({}, set(), {})
        artifacts = find_regenerated_artifacts(regeneration).filter(pk__in=ids)
        index_of = dict(artifacts.values_list("pk", "index"))
        for build, kinds in find_builds_and_kinds(regeneration):
            artifact_ids = {pk for pk, index in index_of.items() if index == build.index_id}
            if of_artifacts := [kind for kind in kinds if not KINDS[kind].is_standalone]:
                scope._add(regeneration, artifact_ids, build, of_artifacts)
            for kind, drafter in get_standalone_drafters(build).items():
                if kind in kinds:
                    rows = drafter.find_rows(build.index_id).filter(pk__in=ids)
                    scope._add(regeneration, set(rows.values_list("pk", flat=True)), build, [kind])
        if regeneration.is_for_stale:
            scope.ids |= _correct_stale_hashes(index_of)
        return scope

    def _add(
        self, regeneration: Regeneration, ids: set[UUID], build: IndexBuild, kinds: list[str]
    ) -> None:
        if not ids:
            return
        for each in ids:
            self.builds.setdefault(each, []).append((build, kinds))
        if not (regeneration.is_for_missing or regeneration.is_for_stale):
            self.ids |= ids
            return
        self.ids |= _find_unplanned(build, kinds, ids)
        nodes = Node.objects.made_from(ids).filter(build=build, kind__in=kinds)
        if regeneration.is_for_stale:
            unhashed = nodes.filter(Q(text_hash=None) | Q(source_hash=None))
            unhashed = unhashed.exclude(state=Node.State.DELETING)
            self.ids |= set(unhashed.values_list(MADE_FROM_ID, flat=True))
        if regeneration.is_for_missing:
            failed = nodes.filter(NOT_SYNCED, state=Node.State.FAILED)
            self.ids |= set(failed.values_list(MADE_FROM_ID, flat=True))
            for kind in kinds:
                if not KINDS[kind].is_standalone:
                    self.ids |= get_drafter(kind).find_unwritable(ids, build)
                synced = nodes.filter(kind=kind, state=Node.State.SYNCED)
                for row in _find_rows_without_points(build, build.collection(kind), synced):
                    made_from_id = row.artifact_id or row.point_id
                    self.nodes_without_points.setdefault(made_from_id, []).append(row.pk)
                    self.ids.add(made_from_id)


def _find_unplanned(build: IndexBuild, kinds: Sequence[str], ids: set[UUID]) -> set[UUID]:
    """Return those ids whose current state the ledger does not match; ``ids`` are all of artifacts
    or all of one standalone kind."""
    if not KINDS[kinds[0]].is_standalone:
        return find_unplanned_artifacts(build, ids)
    rows = find_unplanned_rows(kinds[0], build).filter(pk__in=ids)
    return set(rows.values_list("pk", flat=True))


def find_builds_and_kinds(
    regeneration: Regeneration,
) -> Iterator[tuple[IndexBuild, list[str]]]:
    """Yield every build that the regeneration covers, with the kinds of node to regenerate."""
    builds = IndexBuild.objects.not_retired()
    if regeneration.index_id is not None:
        builds = builds.filter(index=regeneration.index_id)
    for build in builds.readable():
        kinds = [
            kind for kind in build.spec.kinds if KINDS[kind].regeneration_type in regeneration.types
        ]
        if kinds:
            yield build, kinds


def _find_rows_without_points(
    build: IndexBuild, collection: str, nodes: NodeQuerySet
) -> Iterator[ComparedRow]:
    last = 0
    in_order = nodes.order_by("pk").values_list("pk", "point_id")
    while rows := list(in_order.filter(pk__gt=last)[:ROWS_PER_STATEMENT]):
        last, _ = rows[-1]
        point_ids = [point_id for _, point_id in rows]
        for finding in compare_points(build, collection, point_ids).findings:
            if finding.name == "missing" and finding.row is not None:
                yield finding.row


def _correct_stale_hashes(artifact_ids: Iterable[UUID]) -> set[UUID]:
    """Correct hashes that do not match the stored text or attributes; return those artifacts."""
    changed = set()
    for artifact_id in artifact_ids:
        artifact = Artifact.objects.filter(pk=artifact_id).first()
        if artifact is not None and artifact.attributes_hash != artifact.compute_attributes_hash():
            artifact.save(update_fields=["attributes_hash"])
            changed.add(artifact_id)
        models: tuple[type[Page] | type[Source], ...] = (Page, Source)
        for model in models:
            rows = model._default_manager.filter(artifact=artifact_id).only("text", "content_hash")
            for row in rows.iterator(chunk_size=ROWS_PER_STATEMENT):
                if row.content_hash != hash_text(row.text):
                    row.save(update_fields=["content_hash"])
                    changed.add(artifact_id)
    return changed
