"""Ledger rows of drafted nodes: made from what drafters yield, and written if they differ."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Min
from django.utils import timezone

from documents.models import Artifact
from indexing.drafting import (
    get_drafters,
    get_standalone_drafters,
    hash_payload,
    hash_vector_inputs,
    make_payload,
)
from indexing.models import LOST_TURN, IndexBuild, Node
from indexing.services.batches import ROWS_PER_STATEMENT, slices

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

# The fields that planning overwrites in an existing row.
PLANNED_FIELDS = [
    "kind", "artifact", "page", "source", "strategy", "chunk_index", "start_offset", "end_offset",
    "text", "context", "text_hash", "source_hash", "attributes_hash", "input_hash",
    "synced_input_hash", "payload_hash", "details", "embedded_at", "token_count",
    "embedding_model", "dimension", "state", "turn", "attempts", "last_error", "lease_token",
    "leased_until", "planned_at",
]  # fmt: skip


def draft_rows(artifact: Artifact, build: IndexBuild, kinds: Collection[str]) -> Iterator[Node]:
    """Yield unsaved rows of these kinds: all that the recipe requires for one artifact."""
    if artifact.state != Artifact.State.PARSED:
        return
    for kind, drafter in get_drafters(build).items():
        if kind in kinds:
            yield from _make_rows(kind, drafter.draft(artifact, build), artifact, build)


def draft_standalone_rows(kind: str, ids: Collection[UUID], build: IndexBuild) -> list[Node]:
    """Return unsaved nodes of a standalone kind for those of these ids that exist. The rows they
    are made from are locked until the caller's transaction ends."""
    drafter = get_standalone_drafters(build)[kind]
    rows = drafter.find_rows(build.index_id).filter(pk__in=ids).select_for_update().order_by("pk")
    return list(_make_rows(kind, (drafter.draft(row, build) for row in rows), None, build))


def _make_rows(
    kind: str, text_nodes: Iterable["TextNode"], artifact: Artifact | None, build: IndexBuild
) -> Iterator[Node]:
    now = timezone.now()
    model = build.spec.embedding_spec_for(kind)
    for text_node in text_nodes:
        node = Node.from_text_node(text_node, artifact, build)
        node.attributes_hash = "" if artifact is None else artifact.attributes_hash
        node.input_hash = hash_vector_inputs(node, build.spec)
        node.payload_hash = hash_payload(make_payload(node))
        node.embedding_model = model.model
        node.dimension = model.dimension
        node.planned_at = now
        yield node


def find_current_turn(build: IndexBuild) -> int:
    """The turn of the nodes that are synced next; new ones join them."""
    nodes = Node.objects.unsynced(build).filter(turn__lt=LOST_TURN)
    return nodes.aggregate(first=Min("turn"))["first"] or 0


def write_rows(build: IndexBuild, drafts: Sequence[Node], *, known_ids: Collection[UUID]) -> None:
    """Write drafts that are new or differ from their row. ``known_ids``: ids whose row may
    exist."""
    existing: dict[UUID, Node] = {}
    for part in slices(sorted(known_ids), ROWS_PER_STATEMENT):
        rows = Node.objects.select_for_update().filter(build=build, point_id__in=part)
        existing |= {row.point_id: row for row in rows.order_by("pk").defer("text", "context")}
    changed = []
    for draft in drafts:
        row = existing.get(draft.point_id)
        if row is not None:
            if row.state == Node.State.DELETING:
                # Its point may be deleted at this moment, so it must be written completely.
                row.synced_input_hash = ""
            elif not _needs_sync(row, draft):
                continue
            draft.synced_input_hash = row.synced_input_hash
            draft.embedded_at = row.embedded_at
        changed.append(draft)
    _clear_places(build, [draft for draft in changed if draft.point_id in known_ids], existing)
    Node.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["build", "point_id"],
        update_fields=PLANNED_FIELDS,
        batch_size=ROWS_PER_STATEMENT,
    )


def mark_deleting(node_ids: Sequence[int]) -> None:
    """Mark these rows for deletion: a sync worker deletes their points and then the rows."""
    for part in slices(node_ids, ROWS_PER_STATEMENT):
        Node.objects.filter(pk__in=part).update(state=Node.State.DELETING)


def _clear_places(build: IndexBuild, drafts: Iterable[Node], existing: Mapping[UUID, Node]) -> None:
    """Clear the places of rows that the drafts take, because places of chunks are unique."""
    point_ids = {
        (draft.source_id, draft.strategy, draft.chunk_index): draft.point_id
        for draft in drafts
        if draft.kind == "chunk"
    }
    moved = [existing[point_id].pk for point_id in point_ids.values() if point_id in existing]
    source_ids = sorted({source_id for source_id, _, _ in point_ids if source_id is not None})
    for sources in slices(source_ids, ROWS_PER_STATEMENT):
        rows = Node.objects.filter(build=build, source__in=sources, kind="chunk")
        for row in rows.exclude(state=Node.State.DELETING).values_list(
            "pk", "point_id", "source_id", "strategy", "chunk_index"
        ):
            if point_ids.get(row[2:], row[1]) != row[1]:
                moved.append(row[0])
    for part in slices(moved, ROWS_PER_STATEMENT):
        Node.objects.filter(pk__in=part).update(chunk_index=None)


def _needs_sync(row: Node, draft: Node) -> bool:
    """Whether the row must be synced again; the payload hash covers its position."""
    return any(
        getattr(row, name) != getattr(draft, name)
        for name in ("text_hash", "source_hash", "attributes_hash", "input_hash", "payload_hash")
    )
