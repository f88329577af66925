"""Plans the ledger: makes its rows match the artifacts as they are now."""

import json
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from core.text import hash_text
from documents.exceptions import Unparsable
from documents.models import Artifact, Source
from documents.services import mark_artifact_failed
from indexing.chunking import prepend_context
from indexing.exceptions import UnchunkableText
from indexing.kinds.registry import NodeKind, get_kinds_of_build, hash_payload
from indexing.models import IndexBuild, Node
from indexing.services.batches import ROWS_PER_STATEMENT, slices

# What planning writes anew to a row that exists.
PLANNED_FIELDS = [
    "kind", "artifact", "page", "source", "strategy", "chunk_index", "start_offset", "end_offset",
    "text", "context", "text_hash", "source_hash", "attributes_hash", "input_hash",
    "synced_input_hash", "payload_hash", "details", "embedded_at", "token_count",
    "embedding_model", "dimension", "state", "attempts", "last_error", "lease_token",
    "leased_until", "planned_at",
]  # fmt: skip


def plan_nodes(artifact_id: UUID, build: IndexBuild, kinds: Collection[str] | None = None) -> None:
    """Make the ledger of ``build`` match one artifact as it is now: all its nodes, or those of some
    kinds.

    New nodes and nodes that changed become pending, vanished ones `deleting`, the rest stays
    untouched. While the artifact waits to be parsed, its nodes stay as they are: readers keep
    what was there before.
    """
    while True:
        artifacts = Artifact.objects.filter(pk=artifact_id, index=build.index_id)
        artifact = artifacts.with_sources().first()
        if artifact is None:
            _not_deleting_nodes(build, artifact_id).update(state=Node.State.DELETING)
            return
        if artifact.state in {Artifact.State.RECEIVED, Artifact.State.PARSING}:
            return
        texts_before = [(source.pk, source.text) for source in artifact.sources.all()]
        inputs_before = _read_kind_inputs(artifact_id, build, kinds)
        try:
            drafts = draft_nodes(artifact, build, kinds)
        except UnchunkableText as error:
            # No later try would end otherwise; the document's owner must hear of it.
            mark_artifact_failed(artifact, Unparsable(error.code, error.detail))
            continue
        # Drafting took a while, and no lock was held: write only if it is still what is there.
        with transaction.atomic():
            current = Artifact.objects.select_for_update().filter(pk=artifact_id).first()
            is_same = current is not None and (current.revision, current.attributes_hash) == (
                artifact.revision,
                artifact.attributes_hash,
            )
            if is_same and texts_before == _read_source_texts(artifact_id):
                # What was written meanwhile may be planned already: never planned back.
                inputs_now = _read_kind_inputs(artifact_id, build, kinds)
                outdated = {name for name in inputs_now if inputs_now[name] != inputs_before[name]}
                if outdated:
                    drafts = [draft for draft in drafts if draft.kind not in outdated]
                    drafts += draft_nodes(artifact, build, outdated)
                _write_plan(build, artifact_id, drafts, kinds)
                return


def draft_nodes(
    artifact: Artifact, build: IndexBuild, kinds: Collection[str] | None = None
) -> list[Node]:
    """Create, unsaved, every node that the recipe requires for one artifact (of these kinds)."""
    if artifact.state != Artifact.State.PARSED:
        return []
    spec = build.spec
    # Rows written behind our back may carry no hash or an old one; it must be true from here on.
    for source in artifact.sources.all():
        if source.content_hash != hash_text(source.text):
            source.save(update_fields=["content_hash"])
    drafts = []
    now = timezone.now()
    for kind in _planned_kinds(build, kinds):
        model = spec.embedding_spec_for(kind.name)
        vectors = json.dumps([model.model_dump(), spec.sparse.model_dump()], sort_keys=True)
        for node in kind.draft(artifact, build):
            node.attributes_hash = artifact.attributes_hash
            node.input_hash = hash_text(f"{vectors}\n{prepend_context(node.context, node.text)}")
            node.payload_hash = hash_payload(kind.payload(node))
            node.embedding_model = model.model
            node.dimension = model.dimension
            node.planned_at = now
            drafts.append(node)
    return drafts


def _read_kind_inputs(
    artifact_id: UUID, build: IndexBuild, kinds: Collection[str] | None
) -> dict[str, object]:
    """Per kind, the version of its extra inputs, beside the artifact and its sources."""
    return {
        kind.name: kind.get_input_version(artifact_id, build)
        for kind in _planned_kinds(build, kinds)
    }


def _planned_kinds(build: IndexBuild, kinds: Collection[str] | None) -> list[NodeKind]:
    return [kind for kind in get_kinds_of_build(build) if kinds is None or kind.name in kinds]


def _read_source_texts(artifact_id: UUID) -> list[Any]:
    return list(
        Source.objects.filter(artifact=artifact_id).order_by("ordinal").values_list("pk", "text")
    )


def _not_deleting_nodes(build: IndexBuild, artifact_id: UUID) -> Any:
    nodes = Node.objects.filter(build=build, artifact=artifact_id)
    return nodes.exclude(state=Node.State.DELETING)


def _write_plan(
    build: IndexBuild,
    artifact_id: UUID,
    drafts: Sequence[Node],
    kinds: Collection[str] | None,
) -> None:
    # Locked, in the order every writer of several rows locks them: no two wait for each other.
    rows = Node.objects.select_for_update().filter(build=build, artifact=artifact_id)
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    existing = {node.point_id: node for node in rows.order_by("pk").defer("text", "context")}
    wanted = {draft.point_id for draft in drafts}
    changed = []
    for draft in drafts:
        row = existing.get(draft.point_id)
        if row is not None:
            if row.state == Node.State.DELETING:
                # Its point may be going this moment: have it written whole.
                row.synced_input_hash = ""
            elif not _needs_sync(row, draft):
                continue
            draft.synced_input_hash = row.synced_input_hash
            draft.embedded_at = row.embedded_at
        changed.append(draft)
    vanished = [
        row.pk
        for row in existing.values()
        if row.point_id not in wanted and row.state != Node.State.DELETING
    ]
    moved = [existing[draft.point_id].pk for draft in changed if draft.point_id in existing]
    for part in slices(vanished, ROWS_PER_STATEMENT):
        Node.objects.filter(pk__in=part).update(state=Node.State.DELETING)
    # Places are unique: those about to be dealt out again are left first.
    for part in slices(moved, ROWS_PER_STATEMENT):
        Node.objects.filter(pk__in=part).update(chunk_index=None)
    Node.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["build", "point_id"],
        update_fields=PLANNED_FIELDS,
        batch_size=ROWS_PER_STATEMENT,
    )


def _needs_sync(row: Node, draft: Node) -> bool:
    """Whether the row must be synced again; the payload hash covers its position."""
    return any(
        getattr(row, name) != getattr(draft, name)
        for name in ("text_hash", "source_hash", "attributes_hash", "input_hash", "payload_hash")
    )
