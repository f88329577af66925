"""Receivers that release the references of a finding:

    its content or groups change -> on save   -> references.release_references
    it is deleted                -> before it -> references.release_references

Both run in the transaction of the change.
"""

from typing import Any

from django.db.models.signals import post_save, pre_delete
from django.dispatch import receiver

from documents.models import Artifact
from evidence.links import release_references


@receiver(post_save, sender=Artifact, dispatch_uid="evidence.artifact_saved")
def release_outdated_references(
    instance: Artifact, *, created: bool, raw: bool = False, **kwargs: Any
) -> None:
    if not created and not raw:
        release_references(instance, only_outdated=True)


@receiver(pre_delete, sender=Artifact, dispatch_uid="evidence.artifact_deleted")
def release_all_references(instance: Artifact, **kwargs: Any) -> None:
    release_references(instance, only_outdated=False)
