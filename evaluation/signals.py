"""A receiver that erases what evaluation runs store about a document that is deleted."""

from typing import Any

from django.db.models.signals import post_delete
from django.dispatch import receiver

from documents.models import Artifact
from evaluation.runs import erase_artifact


@receiver(post_delete, sender=Artifact, dispatch_uid="evaluation.artifact_deleted")
def erase_from_runs(instance: Artifact, **kwargs: Any) -> None:
    erase_artifact(instance)
