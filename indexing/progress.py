"""Counts the progress of each index for the ``status`` command, the API and the progress bars."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min
from django.utils import timezone

from documents.models import Artifact
from indexing.kinds.registry import find_artifacts_with_unwritten_input, find_unplanned_artifacts
from indexing.models import IndexBuild, Node


@dataclass(frozen=True, slots=True)
class IndexProgress:
    name: str
    title: str
    description: str
    build: int
    kinds: tuple[str, ...]  # of node, as the build's recipe has them
    artifact_count: int
    waiting_count: int  # artifacts not read yet, or not planned
    failed_artifact_count: int
    pending: int
    synced: int
    failed: int
    deleting: int
    oldest_pending_seconds: float | None
    problem: str  # what keeps it from syncing just now

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "build": self.build,
            "kinds": list(self.kinds),
            "nodes": {
                "pending": self.pending,
                "synced": self.synced,
                "failed": self.failed,
                "deleting": self.deleting,
            },
            "artifacts": self.artifact_count,
            "artifacts_waiting": self.waiting_count,
            "artifacts_failed": self.failed_artifact_count,
            "oldest_pending_seconds": self.oldest_pending_seconds,
            "problem": self.problem or None,
        }


def get_index_progress(
    name: str | None = None, *, include_unplanned: bool = False
) -> list[IndexProgress]:
    """Progress of one index, or of all sorted by name, in three grouped queries.

    ``include_unplanned`` adds artifacts that are read, but have no nodes yet, to those waiting:
    exact, at the price of a look at every source.
    """
    builds = IndexBuild.objects.live()
    if name is not None:
        builds = builds.filter(index=name)
    builds = builds.order_by("index")
    live = [build.pk for build in builds]
    nodes: dict[tuple[int, str], int] = {
        (row["build"], row["state"]): row["count"]
        for row in Node.objects.filter(build__in=live)
        .values("build", "state")
        .annotate(count=Count("pk"))
    }
    oldest = dict(
        Node.objects.filter(build__in=live, state=Node.State.PENDING)
        .values_list("build")
        .annotate(Min("planned_at"))
    )
    artifacts: dict[tuple[str, str], int] = {
        (row["index"], row["state"]): row["count"]
        for row in Artifact.objects.documents()
        .filter(index__in=[build.index_id for build in builds])
        .values("index", "state")
        .annotate(count=Count("pk"))
    }
    now = timezone.now()
    return [
        IndexProgress(
            name=build.index_id,
            title=build.spec.title or build.index_id,
            description=build.spec.description,
            build=build.number,
            kinds=build.spec.kinds,
            artifact_count=sum(artifacts.get((build.index_id, s), 0) for s in Artifact.State),
            waiting_count=sum(
                artifacts.get((build.index_id, s), 0) for s in ("received", "parsing")
            )
            + (_count_incomplete_artifacts(build) if include_unplanned else 0),
            failed_artifact_count=artifacts.get((build.index_id, "failed"), 0),
            pending=nodes.get((build.pk, "pending"), 0),
            synced=nodes.get((build.pk, "synced"), 0),
            failed=nodes.get((build.pk, "failed"), 0),
            deleting=nodes.get((build.pk, "deleting"), 0),
            oldest_pending_seconds=(
                round((now - oldest[build.pk]).total_seconds(), 1) if build.pk in oldest else None
            ),
            problem=build.problem or build.writing_problem,
        )
        for build in builds
    ]


def _count_incomplete_artifacts(build: IndexBuild) -> int:
    return (find_unplanned_artifacts(build) | find_artifacts_with_unwritten_input(build)).count()
