"""Finds changes that sent no signal, by checking a batch of documents at a time."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.models import IndexBuild, Node


def audit_documents(build: IndexBuild) -> list[UUID]:
    """Check the next few artifacts for changes that their hashes do not show; return those to plan.

    Finds text and titles changed outside Django, and nodes whose source is gone. Each call checks
    one batch, so that the whole index is covered over time at a bounded cost.
    """
    artifacts = Artifact.objects.filter(index=build.index_id, state=Artifact.State.PARSED)
    next_artifacts = artifacts.order_by("pk")
    if build.audit_cursor is not None:
        next_artifacts = next_artifacts.filter(pk__gt=build.audit_cursor)
    due, checked_count, last = [], 0, None
    for artifact in next_artifacts[: settings.STRATA_AUDIT_SOURCES].prefetch_related("sources"):
        if checked_count >= settings.STRATA_AUDIT_SOURCES:
            break
        last = artifact.pk
        sources = list(artifact.sources.all())
        checked_count += max(1, len(sources))
        if artifact.attributes_hash != artifact.compute_attributes_hash():
            artifact.save(update_fields=["attributes_hash"])
            due.append(artifact.pk)
        elif any(source.content_hash != hash_text(source.text) for source in sources):
            due.append(artifact.pk)
    IndexBuild.objects.filter(pk=build.pk).update(audit_cursor=last)
    return due + list(orphaned_artifacts(build))


def orphaned_artifacts(build: IndexBuild) -> Any:
    """Ids of artifacts that were deleted or lost a source or page, but still have nodes."""
    nodes = Node.objects.filter(build=build).exclude(state=Node.State.DELETING)
    has_source, has_page, is_there = (
        Exists(model.objects.filter(pk=OuterRef(name)))
        for model, name in ((Source, "source_id"), (Page, "page_id"), (Artifact, "artifact_id"))
    )
    is_orphaned = (
        Q(~has_source, source_id__isnull=False) | Q(~has_page, page_id__isnull=False) | Q(~is_there)
    )
    return nodes.filter(is_orphaned).values_list("artifact_id", flat=True).distinct()
