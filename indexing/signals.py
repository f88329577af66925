"""Enqueues planning when artifacts or sources change. The second half of the flow:

    Artifact saved   -> commit -> tasks.plan_nodes     ledger: new rows pending, vanished deleting
    Artifact deleted -> commit -> tasks.plan_nodes     ledger: all its rows deleting
    Source saved     -> commit -> tasks.plan_nodes
    pending rows               -> tasks.sync         claim -> embed -> upsert -> synced;
                                                       then the points to delete go, then their rows
    each minute (beat)         -> tasks.reconcile_indexes  whatever no signal woke

Parsing writes pages and sources in bulk, without signals, and saves the artifact last.
"""

from typing import Any
from uuid import UUID

from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from core.enqueueing import enqueue_on_commit
from documents.models import Artifact, Source
from indexing import tasks


@receiver(post_save, sender=Artifact, dispatch_uid="indexing.artifact_saved")
def enqueue_planning(instance: Artifact, *, raw: bool = False, **kwargs: Any) -> None:
    if raw or instance.state in {Artifact.State.RECEIVED, Artifact.State.PARSING}:
        return
    _enqueue_plan_nodes(instance.pk)


@receiver(post_delete, sender=Artifact, dispatch_uid="indexing.artifact_deleted")
def enqueue_deletion(instance: Artifact, **kwargs: Any) -> None:
    _enqueue_plan_nodes(instance.pk)


@receiver(post_save, sender=Source, dispatch_uid="indexing.source_saved")
def enqueue_replanning(instance: Source, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        _enqueue_plan_nodes(instance.artifact_id)


def _enqueue_plan_nodes(artifact_id: UUID) -> None:
    enqueue_on_commit(tasks.plan_nodes, artifact_id=str(artifact_id))
