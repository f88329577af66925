"""Receivers that enqueue the writing of summaries and questions. The flow:

    Artifact or Page saved -> commit -> indexing.tasks.plan_build  rows due for what changed
    documents planned      -> tasks.write_due_texts          claim -> write -> save -> plan_build
    Summary saved          -> commit -> plan_build, and write_due_texts for its artifact's summary
    each minute (beat)     -> tasks.reconcile_written_texts  work that no signal enqueued

Parsing writes pages in bulk, without signals, and saves the artifact last. Written texts are
saved with ``update()``, without signals; the writing task enqueues ``plan_build`` for them.
"""

from typing import Any

from django.db.models.signals import post_save
from django.dispatch import receiver

from core.enqueueing import enqueue_on_commit, enqueue_once
from documents.models import Page
from indexing.models import IndexBuild
from indexing.services import make_documents_due
from indexing.signals import make_due_and_enqueue
from indexing.tasks import documents_planned, plan_build
from summaries import services, tasks
from summaries.models import Summary


@receiver(documents_planned, dispatch_uid="summaries.documents_planned")
def enqueue_writing(build: IndexBuild, **kwargs: Any) -> None:
    if build.spec.has_generated_texts and services.has_claimable_texts(build):
        enqueue_once(tasks.write_due_texts, build_id=build.pk)


@receiver(post_save, sender=Page, dispatch_uid="summaries.page_saved")
def enqueue_text_planning(instance: Page, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        make_due_and_enqueue(instance.artifact_id, instance.artifact.index)


@receiver(post_save, sender=Summary, dispatch_uid="summaries.summary_saved")
def enqueue_node_planning_and_writing(
    instance: Summary, *, raw: bool = False, **kwargs: Any
) -> None:
    if raw:
        return
    make_documents_due([instance.build_id], [instance.artifact_id])
    enqueue_on_commit(plan_build, build_id=instance.build_id)
    enqueue_on_commit(tasks.write_due_texts, build_id=instance.build_id)
