"""Finds changes that no signal announced and no revision shows, some rows at a time."""

from collections.abc import Collection
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count

from core.text import hash_text
from documents.models import Artifact, Source
from indexing.drafting import get_drafters
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.services.documents import make_documents_due
from indexing.services.planning import has_normal_metadata, hash_content


def audit_documents(build: IndexBuild) -> set[UUID]:
    """Check the next sources and documents of a build, and make due those that differ from what was
    planned, for example after raw SQL. Each call continues where the last one ended.

    Returns:
        The artifacts that were made due.
    """
    changed = _audit_sources(build) | _audit_documents(build)
    with transaction.atomic():
        make_documents_due([build.pk], changed)
        # Nodes may be gone although their text is unchanged: plan every kind.
        IndexedDocument.objects.filter(build=build, artifact__in=changed).update(content_hash="")
    return changed


def _audit_sources(build: IndexBuild) -> set[UUID]:
    """Correct the hashes of sources whose text was changed; return their artifacts."""
    sources = Source.every_reading.filter(artifact__index=build.index_id).order_by("pk")
    if build.source_audit_cursor is not None:
        sources = sources.filter(pk__gt=build.source_audit_cursor)
    last, changed = None, set()
    for source in sources[: settings.STRATA_AUDIT_SOURCES]:
        last = source.pk
        if source.content_hash != hash_text(source.text):
            Source.every_reading.filter(pk=source.pk).update(content_hash=hash_text(source.text))
            changed.add(source.artifact_id)
    IndexBuild.objects.filter(pk=build.pk).update(source_audit_cursor=last)
    build.source_audit_cursor = last
    return changed


def _audit_documents(build: IndexBuild) -> set[UUID]:
    """Find planned documents whose artifact, sources, texts or nodes have changed since."""
    finished = [IndexedDocument.State.READY, IndexedDocument.State.WAITING]
    documents = IndexedDocument.objects.filter(build=build, state__in=finished)
    if build.audit_cursor is not None:
        documents = documents.filter(artifact__gt=build.audit_cursor)
    batch = list(documents.order_by("artifact")[: settings.STRATA_AUDIT_SOURCES])
    last = batch[-1].artifact_id if batch else None
    IndexBuild.objects.filter(pk=build.pk).update(audit_cursor=last)
    build.audit_cursor = last
    return _find_changed(build, batch)


def find_unplanned_artifacts(build: IndexBuild, artifact_ids: Collection[UUID]) -> set[UUID]:
    """The artifacts whose current state the ledger of ``build`` does not match."""
    documents = IndexedDocument.objects.filter(build=build, artifact__in=artifact_ids)
    planned = list(documents.exclude(state=IndexedDocument.State.DUE))
    unplanned = set(artifact_ids) - {document.artifact_id for document in planned}
    return unplanned | _find_changed(build, planned)


def _find_changed(build: IndexBuild, documents: Collection[IndexedDocument]) -> set[UUID]:
    """The artifacts of documents that have changed since planning, by their stored hashes, or that
    write values of declared fields in another form than their spec does now."""
    changed: set[UUID] = set()
    for part in slices(sorted(documents, key=lambda each: each.artifact_id), ROWS_PER_STATEMENT):
        rows = {document.artifact_id: document for document in part}
        hashes = _hash_contents(build, rows)
        node_counts = dict(
            Node.objects.filter(build=build, artifact__in=rows)
            .exclude(state=Node.State.DELETING)
            .order_by()
            .values_list("artifact")
            .annotate(Count("pk"))
        )
        versions = {
            kind: drafter.get_input_versions(rows, build)
            for kind, drafter in get_drafters(build).items()
        }
        for artifact_id, document in rows.items():
            counted = document.pending_count + document.synced_count + document.failed_count
            is_same = (
                document.content_hash == hashes.get(artifact_id)
                and counted == node_counts.get(artifact_id, 0)
                and all(
                    document.input_versions.get(name, "") == known.get(artifact_id, "")
                    for name, known in versions.items()
                )
            )
            if not is_same:
                changed.add(artifact_id)
    return changed


def _hash_contents(build: IndexBuild, artifact_ids: Collection[UUID]) -> dict[UUID, str]:
    artifacts = Artifact.objects.filter(index=build.index_id, pk__in=artifact_ids)
    sources: dict[UUID, list[list[object]]] = {}
    for artifact_id, pk, *rest, warnings in (
        Source.every_reading.seen_by(build.reading)
        .filter(artifact__in=artifact_ids)
        .order_by("ordinal")
        .values_list(
            "artifact", "pk", "content_hash", "heading", "ordinal", "page__index", "page__warnings"
        )
    ):
        sources.setdefault(artifact_id, []).append([str(pk), *rest, *warnings])
    return {
        artifact.pk: hash_content(
            artifact, artifact.compute_attributes_hash(), sources.get(artifact.pk, [])
        )
        for artifact in artifacts
        if has_normal_metadata(artifact, build)
    }
