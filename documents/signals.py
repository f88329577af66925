"""Changes to documents that start work, up to parsing:

    upload / import          -> services.add_artifact     one transaction: row + file
    Artifact saved -> commit -> tasks.parse_artifact      if its content is not parsed yet
    each minute (beat)       -> tasks.reconcile_documents     what no message announced

``indexing/signals.py`` shows what happens once an artifact is parsed.
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
    enqueue_on_commit(tasks.parse_artifact, artifact_id=str(instance.pk), index=instance.index)
