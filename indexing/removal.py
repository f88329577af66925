"""Certified deletion: the points of an artifact, removed and counted."""

import time
from uuid import UUID

from documents.models import Artifact
from indexing.models import IndexBuild, Node
from indexing.services import plan_nodes, remove_doomed
from indexing.stores import get_store
from indexing.stores.base import Match

WAIT_SECONDS = 10  # for a worker that is writing the very nodes; it lets go after its batch


def remove_points(artifact_id: UUID) -> int:
    """Remove what a deleted artifact left in every build, and count its points once more.

    Returns:
        Points that are still there: 0, or those a worker holds on to for longer than we wait.

    Raises:
        StoreUnavailable: the rows stay doomed, and their points go with the next sweep.
    """
    assert not Artifact.objects.filter(pk=artifact_id).exists()
    builds = list(IndexBuild.objects.filter(nodes__artifact=artifact_id).distinct())
    for build in builds:
        plan_nodes(artifact_id, build)  # dooms them all
    deadline = time.monotonic() + WAIT_SECONDS
    while Node.objects.filter(artifact=artifact_id).exists() and time.monotonic() < deadline:
        if not sum(remove_doomed(build, artifact_id) for build in builds):
            time.sleep(0.05)
    return sum(count_points(artifact_id, build) for build in IndexBuild.objects.all())


def count_points(artifact_id: UUID, build: IndexBuild) -> int:
    """An artifact's points in every collection of ``build``."""
    of_artifact = Match("artifact_id", [str(artifact_id)])
    store = get_store()
    return sum(store.count(collection, of_artifact) for collection in build.collections())
