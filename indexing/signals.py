"""Enqueues planning when artifacts or their sources change. The flow after parsing:

    Artifact or Source saved -> its documents due, in the same transaction
                     -> commit -> tasks.plan_build    ledger: new rows pending, vanished deleting
    Artifact deleted -> the same                      ledger: all its rows deleting
    a build is made  -> tasks.read_anew               originals that another reader has read
    pending rows     -> tasks.sync_nodes              claim -> embed -> upsert -> synced;
                                                      then points to delete, then their rows
    each minute (beat)        -> tasks.reconcile_indexes     changes that no signal announced
                              -> tasks.reconcile_store       data of retired builds, aliases
                              -> tasks.audit_points(build)   lost and orphan points
                              -> tasks.remove_expired_artifacts   documents older than `keep_days`

Parsing writes pages and sources in bulk, without signals, and saves the artifact last.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from core.enqueueing import enqueue_on_commit
from documents.models import Artifact, Source
from indexing import services, tasks


@receiver(post_save, sender=Artifact, dispatch_uid="indexing.artifact_saved")
def enqueue_planning(instance: Artifact, *, raw: bool = False, **kwargs: Any) -> None:
    if raw or instance.state in {Artifact.State.RECEIVED, Artifact.State.PARSING}:
        return
    make_due_and_enqueue(instance.pk, instance.index)


@receiver(post_delete, sender=Artifact, dispatch_uid="indexing.artifact_deleted")
def enqueue_deletion(instance: Artifact, **kwargs: Any) -> None:
    _enqueue_plans(services.make_removed_artifact_due(instance.pk))


@receiver(post_save, sender=Source, dispatch_uid="indexing.source_saved")
def enqueue_replanning(instance: Source, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        make_due_and_enqueue(instance.artifact_id, instance.artifact.index)


def make_due_and_enqueue(artifact_id: UUID, index: str) -> None:
    _enqueue_plans(services.make_artifact_due(artifact_id, index))


def plan_standalone_and_enqueue(kind: str, index: str, row_id: UUID) -> None:
    for build_id in services.plan_standalone_nodes(kind, index, [row_id]):
        enqueue_on_commit(tasks.sync_nodes, build_id=build_id)


def _enqueue_plans(build_ids: Iterable[int]) -> None:
    for build_id in build_ids:
        enqueue_on_commit(tasks.plan_build, build_id=build_id)
