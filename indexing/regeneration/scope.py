"""Determines which builds, kinds and artifacts a regeneration covers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.kinds.registry import NodeKind, get_kinds_of_build
from indexing.models import NOT_SYNCED, IndexBuild, Node, Regeneration
from indexing.stores import get_store

ARTIFACTS_PER_STEP = 100  # artifacts looked at together
POINTS_PER_REQUEST = 500  # nodes whose points are asked for together


def find_regenerated_artifacts(regeneration: Regeneration) -> QuerySet[Artifact]:
    artifacts = Artifact.objects.filter(state=Artifact.State.PARSED)
    if regeneration.index_id is not None:
        artifacts = artifacts.filter(index=regeneration.index_id)
    return artifacts


def find_next_artifact_ids(regeneration: Regeneration) -> list[UUID]:
    cursor, size = regeneration.cursor, ARTIFACTS_PER_STEP
    if regeneration.limit is not None:
        size = min(size, regeneration.limit - regeneration.done_count)
    start = regeneration.offset if cursor is None else 0
    if regeneration.artifact_ids is not None:
        named = sorted(UUID(each) for each in regeneration.artifact_ids)
        following = [each for each in named if cursor is None or each > cursor]
        return following[start : start + size]
    artifacts = find_regenerated_artifacts(regeneration).order_by("pk")
    if cursor is not None:
        artifacts = artifacts.filter(pk__gt=cursor)
    return list(artifacts.values_list("pk", flat=True)[start : start + size])


@dataclass(slots=True)
class Scope:
    """The builds, kinds and artifacts of one batch of a regeneration."""

    builds_by_index: dict[
        str, list[tuple[IndexBuild, list[NodeKind]]]
    ]  # by index, with what it regenerates
    index_of: dict[UUID, str]
    artifact_ids: set[UUID]  # artifacts
    nodes_without_points: dict[UUID, list[int]]  # artifact -> its synced nodes without a point

    @classmethod
    def from_artifacts(cls, regeneration: Regeneration, artifact_ids: Sequence[UUID]) -> "Scope":
        artifacts = find_regenerated_artifacts(regeneration).filter(pk__in=artifact_ids)
        index_of = dict(artifacts.values_list("pk", "index"))
        builds: dict[str, list[tuple[IndexBuild, list[NodeKind]]]] = {}
        for build, kinds in find_builds_and_kinds(regeneration):
            if build.index_id in index_of.values():
                builds.setdefault(build.index_id, []).append((build, kinds))
        scope = cls(builds, index_of, set(), {})
        if not (regeneration.is_for_missing or regeneration.is_for_stale):
            scope.artifact_ids = {each for each, index in index_of.items() if index in builds}
        for build, kinds in (pair for pairs in builds.values() for pair in pairs):
            artifacts = artifacts.filter(index=build.index_id)
            if regeneration.is_for_missing:
                scope._add_missing(artifacts, build, kinds)
            if regeneration.is_for_stale:
                scope._add_stale(artifacts, build, kinds)
        if regeneration.is_for_stale:
            scope.artifact_ids |= _correct_stale_hashes(index_of)
        return scope

    def _add_missing(
        self, artifacts: QuerySet[Artifact], build: IndexBuild, kinds: Sequence[NodeKind]
    ) -> None:
        nodes = Node.objects.filter(build=build, kind__in=[kind.name for kind in kinds])
        failed = nodes.filter(NOT_SYNCED, artifact=OuterRef("pk"), state=Node.State.FAILED)
        is_incomplete = Q(Exists(failed))
        for kind in kinds:
            is_incomplete |= Q(kind.is_unplanned([build.pk])) | Q(kind.has_failed_input([build.pk]))
        self.artifact_ids |= set(artifacts.filter(is_incomplete).values_list("pk", flat=True))
        for artifact_id, node_id in _find_nodes_without_points(
            build, nodes.filter(artifact__in=artifacts.values("pk"), state=Node.State.SYNCED)
        ):
            self.nodes_without_points.setdefault(artifact_id, []).append(node_id)
            self.artifact_ids.add(artifact_id)

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
        self.artifact_ids |= set(artifacts.filter(is_stale).values_list("pk", flat=True))


def find_builds_and_kinds(
    regeneration: Regeneration,
) -> Iterator[tuple[IndexBuild, list[NodeKind]]]:
    """Yield every build that the regeneration covers, with the kinds of node to regenerate."""
    builds = IndexBuild.objects.not_retired()
    if regeneration.index_id is not None:
        builds = builds.filter(index=regeneration.index_id)
    for build in builds:
        kinds = [k for k in get_kinds_of_build(build) if k.regeneration_type in regeneration.types]
        if kinds:
            yield build, kinds


def _find_nodes_without_points(
    build: IndexBuild, nodes: QuerySet[Node]
) -> Iterator[tuple[UUID, int]]:
    """Yield (artifact id, node key) of nodes whose points the store does not hold."""
    last = 0
    while rows := list(
        nodes.filter(pk__gt=last)
        .order_by("pk")
        .values_list("pk", "point_id", "kind", "artifact_id")[:POINTS_PER_REQUEST]
    ):
        last = rows[-1][0]
        for kind in {kind for _, _, kind, _ in rows}:
            wanted = [point_id for _, point_id, its, _ in rows if its == kind]
            held = get_store().retrieve(build.collection(kind), wanted)
            for node_id, point_id, its, artifact_id in rows:
                if its == kind and point_id not in held:
                    yield artifact_id, node_id


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
            for row in rows.iterator(chunk_size=POINTS_PER_REQUEST):
                if row.content_hash != hash_text(row.text):
                    row.save(update_fields=["content_hash"])
                    changed.add(artifact_id)
    return changed
