"""Receivers that enqueue the writing of summaries and questions. The flow:

    Artifact saved   -> commit -> tasks.plan_writing   rows due for what changed
    Page saved       -> commit -> tasks.plan_writing
    due rows                   -> tasks.write          claim -> write -> kept -> plan_nodes
    Summary saved    -> commit -> plan_nodes, and tasks.write for its artifact's summary
    each minute (beat)         -> tasks.reconcile_writing  what no signal enqueued

Parsing writes pages in bulk, without signals, and saves the artifact last. Written texts are
saved with ``update()``, without signals; the writing task enqueues ``plan_nodes`` for them.
"""

from typing import Any
from uuid import UUID

from django.db.models.signals import post_save
from django.dispatch import receiver

from core.enqueueing import enqueue_on_commit
from documents.models import Artifact, Page
from indexing.models import IndexBuild
from indexing.tasks import plan_nodes
from summaries import tasks
from summaries.models import Annotation, Summary
from summaries.services import KINDS_BY_MODEL


@receiver(post_save, sender=Artifact, dispatch_uid="summaries.artifact_saved")
def enqueue_text_planning_for_artifact(
    instance: Artifact, *, raw: bool = False, **kwargs: Any
) -> None:
    if not raw and instance.state == Artifact.State.PARSED:
        _enqueue_text_planning(instance.pk, instance.index)


@receiver(post_save, sender=Page, dispatch_uid="summaries.page_saved")
def enqueue_text_planning_for_page(instance: Page, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        _enqueue_text_planning(instance.artifact_id, instance.artifact.index)


@receiver(post_save, sender=Summary, dispatch_uid="summaries.summary_saved")
@receiver(post_save, sender=Annotation, dispatch_uid="summaries.annotation_saved")
def enqueue_node_planning_and_writing(
    instance: Summary | Annotation, *, raw: bool = False, **kwargs: Any
) -> None:
    if raw:
        return
    kinds = list(KINDS_BY_MODEL[type(instance)])
    enqueue_on_commit(plan_nodes, artifact_id=str(instance.artifact_id), kinds=kinds)
    enqueue_on_commit(tasks.write_due_texts, build_id=instance.build_id)


def _enqueue_text_planning(artifact_id: UUID, index: str) -> None:
    if not any(
        build.spec.has_generated_texts
        for build in IndexBuild.objects.not_retired().filter(index=index)
    ):
        return
    enqueue_on_commit(tasks.plan_written_texts, artifact_id=str(artifact_id))
