"""Changes to documents that start work. The first half of the flow:

    upload / import          -> services.add_artifact     one transaction: row + file
    Artifact saved -> commit -> tasks.parse_artifact      where its content is not read yet
    each minute (beat)       -> tasks.reconcile_documents     whatever no signal woke

What follows once an artifact is parsed stands in ``indexing/signals.py``.
"""

from typing import Any

from django.db.models.signals import post_save
from django.dispatch import receiver

from core.enqueueing import enqueue_on_commit
from documents import tasks
from documents.models import Artifact


@receiver(post_save, sender=Artifact, dispatch_uid="documents.artifact_saved")
def enqueue_parsing(instance: Artifact, *, raw: bool = False, **kwargs: Any) -> None:
    if raw or instance.state != Artifact.State.RECEIVED:
        return
    enqueue_on_commit(tasks.parse_artifact, artifact_id=str(instance.pk))
