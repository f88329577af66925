"""Celery tasks of documents: each takes ids, calls one service and returns nothing."""

from uuid import UUID

from celery import shared_task

from documents import services
from documents.models import Artifact
from documents.originals import delete_abandoned_files

RECONCILE_LIMIT = 1_000  # artifacts enqueued by one reconciliation


@shared_task
def parse_artifact(*, artifact_id: str) -> None:
    """Parse one artifact's file, unless that is done or under way."""
    services.parse_artifact(UUID(artifact_id))


@shared_task
def reconcile_documents() -> None:
    """Enqueue parsing of artifacts that no message announced or that a dead worker left."""
    delete_abandoned_files()
    waiting = Artifact.objects.unparsed().values_list("pk", flat=True)
    for artifact_id in waiting[:RECONCILE_LIMIT]:
        parse_artifact.delay(artifact_id=str(artifact_id))
