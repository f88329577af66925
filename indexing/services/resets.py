"""Sets nodes pending again, to re-embed them or to retry failed ones, and failed documents due."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from core.leases import FRESH
from documents.models import Artifact
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.services.documents import DUE, changing_nodes


def reembed_nodes(nodes: QuerySet[Node]) -> int:
    """Set these nodes pending so that they are embedded and written again; return how many."""
    return set_pending(nodes, synced_input_hash="")


def retry_failed_nodes(nodes: QuerySet[Node]) -> int:
    """Set the failed ones of these nodes pending with new attempts; return how many."""
    return set_pending(nodes.filter(state=Node.State.FAILED))


def retry_failed_documents(artifacts: QuerySet[Artifact]) -> int:
    """Make due the documents of these artifacts whose planning was given up; return how many."""
    builds = IndexBuild.objects.not_retired().values("pk")
    failed = IndexedDocument.objects.filter(
        build__in=builds, artifact__in=artifacts, state=IndexedDocument.State.FAILED
    )
    return failed.exclude(last_error="").update(content_hash="", **DUE)


def set_pending(nodes: QuerySet[Node], **values: Any) -> int:
    """Set these nodes pending with new attempts and other ``values``; return how many.

    Nodes in the state `deleting` and retired builds are not changed.
    """
    nodes = nodes.exclude(state=Node.State.DELETING)
    not_retired = IndexBuild.objects.not_retired().values("pk")
    artifacts_by_build: dict[int, set[UUID | None]] = {}
    in_use = nodes.filter(build__in=not_retired).order_by()
    for build_id, artifact_id in in_use.values_list("build", "artifact").distinct():
        artifacts_by_build.setdefault(build_id, set()).add(artifact_id)
    count = 0
    for build_id, artifact_ids in artifacts_by_build.items():
        with changing_nodes(build_id, artifact_ids):
            count += nodes.filter(build=build_id).update(
                state=Node.State.PENDING, **FRESH, **values
            )
    return count
