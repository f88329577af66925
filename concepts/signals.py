"""Signal receivers that enqueue concept work when documents change. The flow:

    Artifact saved   -> commit -> tasks.relocate_instances   quotes looked for again, or marked lost
    Source saved     -> commit -> tasks.relocate_instances
    either           -> commit -> tasks.extract_concepts where the spec asks for it
    each minute (beat)         -> tasks.reconcile_concepts   whatever no signal woke; and:
    concepts synced            -> tasks.update_emergent_pairs  near pairs kept for review

Concepts and relationship types are planned as any artifact is: ``indexing/signals.py``. What is
quoted from a document goes with the document.
"""

from typing import Any
from uuid import UUID

from django.db.models.signals import post_save
from django.dispatch import receiver

from concepts import tasks
from concepts.extraction import is_extraction_enabled
from concepts.models import Instance
from core.enqueueing import enqueue_on_commit
from documents.models import Artifact, Source
from indexing.models import IndexBuild


@receiver(post_save, sender=Artifact, dispatch_uid="concepts.artifact_saved")
def enqueue_for_artifact(instance: Artifact, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw and instance.role == Artifact.Role.DOCUMENT:
        _enqueue_concept_work(instance.pk, instance.index)


@receiver(post_save, sender=Source, dispatch_uid="concepts.source_saved")
def enqueue_for_source(instance: Source, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        _enqueue_concept_work(instance.artifact_id, instance.artifact.index)


def _enqueue_concept_work(artifact_id: UUID, index: str) -> None:
    if Instance.objects.filter(artifact=artifact_id).exists():
        enqueue_on_commit(tasks.relocate_instances, artifact_id=str(artifact_id))
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is not None and is_extraction_enabled(build):
        enqueue_on_commit(tasks.extract_concepts, build_id=build.pk)
