"""Celery entry points for concepts: ids in, service calls, nothing out.

Every task may run twice, late, or after what it names is gone.
"""

from uuid import UUID

from celery import shared_task

from concepts import evidence


@shared_task
def heal_instances(*, artifact_id: str) -> None:
    """Look anew for what is quoted from a document that changed."""
    evidence.heal_instances(UUID(artifact_id))


@shared_task
def sweep_concepts() -> None:
    """Do what no signal woke: bulk writes, lost messages, dead workers."""
    for artifact_id in list(evidence.displaced_artifacts()):
        evidence.heal_instances(artifact_id)
