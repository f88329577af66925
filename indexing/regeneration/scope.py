"""What a regeneration is for: which builds and artifacts, and what is to be done about them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.kinds.registry import NodeKind, recipe_kinds
from indexing.models import NOT_SYNCED, IndexBuild, Node, Regeneration
from indexing.stores import get_store

SLICE = 100  # artifacts looked at together
ROWS_AT_ONCE = 500  # nodes whose points are asked for together


def artifacts_of(regeneration: Regeneration) -> QuerySet[Artifact]:
    artifacts = Artifact.objects.filter(state=Artifact.State.PARSED)
    if regeneration.index_id is not None:
        artifacts = artifacts.filter(index=regeneration.index_id)
    return artifacts


def next_artifacts(regeneration: Regeneration) -> list[UUID]:
    cursor, size = regeneration.cursor, SLICE
    if regeneration.limit is not None:
        size = min(size, regeneration.limit - regeneration.done_count)
    start = regeneration.offset if cursor is None else 0
    if regeneration.artifact_ids is not None:
        named = sorted(UUID(each) for each in regeneration.artifact_ids)
        following = [each for each in named if cursor is None or each > cursor]
        return following[start : start + size]
    artifacts = artifacts_of(regeneration).order_by("pk")
    if cursor is not None:
        artifacts = artifacts.filter(pk__gt=cursor)
    return list(artifacts.values_list("pk", flat=True)[start : start + size])


@dataclass(slots=True)
class Scope:
    """What is to be done about the artifacts of one slice."""

    builds: dict[str, list[tuple[IndexBuild, list[NodeKind]]]]  # by index, with what it regenerates
    index_of: dict[UUID, str]
    wanted: set[UUID]  # artifacts
    pointless: dict[UUID, list[int]]  # artifact -> its synced nodes without a point

    @classmethod
    def of(cls, regeneration: Regeneration, artifact_ids: Sequence[UUID]) -> "Scope":
        there = artifacts_of(regeneration).filter(pk__in=artifact_ids)
        index_of = dict(there.values_list("pk", "index"))
        builds: dict[str, list[tuple[IndexBuild, list[NodeKind]]]] = {}
        for build, kinds in builds_of(regeneration):
            if build.index_id in index_of.values():
                builds.setdefault(build.index_id, []).append((build, kinds))
        scope = cls(builds, index_of, set(), {})
        if not (regeneration.is_for_missing or regeneration.is_for_stale):
            scope.wanted = {each for each, index in index_of.items() if index in builds}
        for build, kinds in (pair for pairs in builds.values() for pair in pairs):
            artifacts = there.filter(index=build.index_id)
            if regeneration.is_for_missing:
                scope._add_missing(artifacts, build, kinds)
            if regeneration.is_for_stale:
                scope._add_stale(artifacts, build, kinds)
        if regeneration.is_for_stale:
            scope.wanted |= _changed_unseen(index_of)
        return scope

    def _add_missing(
        self, artifacts: QuerySet[Artifact], build: IndexBuild, kinds: Sequence[NodeKind]
    ) -> None:
        nodes = Node.objects.filter(build=build, kind__in=[kind.name for kind in kinds])
        failed = nodes.filter(NOT_SYNCED, artifact=OuterRef("pk"), state=Node.State.FAILED)
        lacks = Q(Exists(failed))
        for kind in kinds:
            lacks |= Q(kind.is_unplanned([build.pk])) | Q(kind.is_refused([build.pk]))
        self.wanted |= set(artifacts.filter(lacks).values_list("pk", flat=True))
        for artifact_id, node_id in _without_points(
            build, nodes.filter(artifact__in=artifacts.values("pk"), state=Node.State.SYNCED)
        ):
            self.pointless.setdefault(artifact_id, []).append(node_id)
            self.wanted.add(artifact_id)

    def _add_stale(
        self, artifacts: QuerySet[Artifact], build: IndexBuild, kinds: Sequence[NodeKind]
    ) -> None:
        nodes = Node.objects.filter(build=build, kind__in=[kind.name for kind in kinds])
        unhashed = nodes.filter(
            Q(text_hash=None) | Q(source_hash=None), artifact=OuterRef("pk")
        ).exclude(state=Node.State.DELETING)
        is_stale = Q(Exists(unhashed))
        for kind in kinds:
            is_stale |= Q(kind.is_unplanned([build.pk]))
        self.wanted |= set(artifacts.filter(is_stale).values_list("pk", flat=True))


def builds_of(regeneration: Regeneration) -> Iterator[tuple[IndexBuild, list[NodeKind]]]:
    """Every build that it is for, with the kinds of node it is for in that build."""
    builds = IndexBuild.objects.receiving()
    if regeneration.index_id is not None:
        builds = builds.filter(index=regeneration.index_id)
    for build in builds:
        kinds = [k for k in recipe_kinds(build) if k.regenerated_as in regeneration.types]
        if kinds:
            yield build, kinds


def _without_points(build: IndexBuild, nodes: QuerySet[Node]) -> Iterator[tuple[UUID, int]]:
    """Those of these nodes whose points the store does not hold: their artifact and own key."""
    last = 0
    while rows := list(
        nodes.filter(pk__gt=last)
        .order_by("pk")
        .values_list("pk", "point_id", "kind", "artifact_id")[:ROWS_AT_ONCE]
    ):
        last = rows[-1][0]
        for kind in {kind for _, _, kind, _ in rows}:
            wanted = [point_id for _, point_id, its, _ in rows if its == kind]
            held = get_store().retrieve(build.collection(kind), wanted)
            for node_id, point_id, its, artifact_id in rows:
                if its == kind and point_id not in held:
                    yield artifact_id, node_id


def _changed_unseen(artifact_ids: Iterable[UUID]) -> set[UUID]:
    """Those whose texts or labels are not what their hashes say, which are corrected."""
    changed = set()
    for artifact_id in artifact_ids:
        artifact = Artifact.objects.filter(pk=artifact_id).first()
        if artifact is not None and artifact.attributes_hash != artifact.compute_attributes_hash():
            artifact.save(update_fields=["attributes_hash"])
            changed.add(artifact_id)
        models: tuple[type[Page] | type[Source], ...] = (Page, Source)
        for model in models:
            rows = model._default_manager.filter(artifact=artifact_id).only("text", "content_hash")
            for row in rows.iterator(chunk_size=ROWS_AT_ONCE):
                if row.content_hash != hash_text(row.text):
                    row.save(update_fields=["content_hash"])
                    changed.add(artifact_id)
    return changed
