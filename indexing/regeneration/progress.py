"""Counts the progress of a regeneration, and the nodes and texts still pending."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from indexing.drafting import get_drafter
from indexing.kinds import KINDS
from indexing.models import NOT_SYNCED, IndexBuild, Node, Regeneration
from indexing.regeneration.scope import find_builds_and_kinds, find_regenerated_artifacts


@dataclass(frozen=True, slots=True)
class RegenerationProgress:
    """A regeneration, and counts of what is still pending for its processed artifacts."""

    regeneration: Regeneration
    pending_count: int  # nodes
    failed_count: int  # nodes
    awaited_count: int  # artifacts with texts that are not written yet
    refused_count: int  # artifacts with texts that could not be written
    artifacts_per_second: float | None
    eta_seconds: float | None  # until all artifacts are processed; None if not known
    problem: str  # what blocks it now

    @property
    def is_synced(self) -> bool:
        is_over = self.regeneration.state != Regeneration.State.RUNNING
        return is_over and not self.pending_count and not self.awaited_count

    def as_json(self) -> dict[str, Any]:
        row = self.regeneration
        return {
            "id": str(row.pk),
            "state": row.state,
            "index": row.index_id,
            "types": row.types,
            "category": row.category,
            "only_missing": row.is_for_missing,
            "stale": row.is_for_stale,
            "limit": row.limit,
            "offset": row.offset,
            "artifacts": {
                "total": row.total_count,
                "done": row.done_count,
                "made_due": row.due_artifact_count,
                "failed": row.failed_count,
                "awaited": self.awaited_count,
                "refused": self.refused_count,
            },
            "texts": {"made_due": row.due_text_count},
            "nodes": {
                "made_due": row.due_node_count,
                "pending": self.pending_count,
                "failed": self.failed_count,
            },
            "is_synced": self.is_synced,
            "artifacts_per_second": self.artifacts_per_second,
            "eta_seconds": self.eta_seconds,
            "problem": self.problem or None,
            "last_error": row.last_error or None,
            "started_at": row.started_at,
            "finished_at": row.finished_at,
        }


def get_regeneration_progress(regeneration: Regeneration) -> RegenerationProgress:
    """Count the progress now; pending nodes in paused builds are not counted."""
    builds = [pair for pair in find_builds_and_kinds(regeneration) if pair[0].paused_at is None]
    is_processed = _make_processed_filter(regeneration)
    pending = failed = awaited = refused = 0
    if regeneration.cursor is not None:
        for build, kinds in builds:
            is_standalone = Q(artifact=None) & is_processed("point_id")
            nodes = Node.objects.filter(NOT_SYNCED, build=build, kind__in=kinds)
            nodes = nodes.filter(is_processed("artifact_id") | is_standalone)
            pending += nodes.filter(state=Node.State.PENDING).count()
            failed += nodes.filter(state=Node.State.FAILED).count()
    if regeneration.due_text_count:
        artifacts = find_regenerated_artifacts(regeneration).filter(is_processed("pk"))
        ids = set(artifacts.values_list("pk", flat=True))
        pairs = [
            (get_drafter(kind), build)
            for build, kinds in builds
            for kind in kinds
            if not KINDS[kind].is_standalone
        ]
        awaited = len(
            set().union(*(drafter.find_unwritten(ids, build) for drafter, build in pairs))
        )
        refused = len(
            set().union(*(drafter.find_unwritable(ids, build) for drafter, build in pairs))
        )
    rate = eta = None
    if regeneration.done_count:
        until = regeneration.finished_at or timezone.now()
        seconds = max((until - regeneration.started_at).total_seconds(), 0.001)
        rate = round(regeneration.done_count / seconds, 2)
        if regeneration.state == Regeneration.State.RUNNING and rate:
            left = max(0, regeneration.total_count - regeneration.done_count)
            eta = round(left * seconds / regeneration.done_count, 1)
    problem = ""
    if regeneration.state == Regeneration.State.RUNNING:
        problem = regeneration.last_error
    if not problem and (pending or awaited):
        problem = _first_problem(build for build, _ in builds)
    return RegenerationProgress(regeneration, pending, failed, awaited, refused, rate, eta, problem)


def _first_problem(builds: Iterable[IndexBuild]) -> str:
    problems = (build.first_problem for build in builds)
    return next(filter(None, problems), "")


def _make_processed_filter(regeneration: Regeneration) -> Callable[[str], Q]:
    """Make a function: name of an artifact field -> condition that it was processed."""
    first, cursor, named = regeneration.first, regeneration.cursor, regeneration.artifact_ids
    if cursor is None:
        return lambda name: Q(pk__in=[])
    if named is not None:
        done = [each for each in map(UUID, named) if each <= cursor]
        return lambda name: Q(**{f"{name}__in": done})
    return lambda name: Q(**{f"{name}__gte": first, f"{name}__lte": cursor})
