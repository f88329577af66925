"""Syncs the store with the ledger: claim nodes, embed and write them, delete what was removed."""

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from core.exceptions import StrataError
from indexing import embedding
from indexing.chunking import prepend_context
from indexing.kinds.registry import get_kind
from indexing.models import IndexBuild, Node, lease_expiry, synced_values
from indexing.reuse import find_reusable_vectors
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.spec import DENSE_ONLY_KINDS, EmbeddingSpec
from indexing.stores import get_store
from indexing.stores.base import CollectionSchema, DenseVector, Point
from indexing.throughput import add_throughput_sample, embedding_work_key
from indexing.unconfirmed_writes import delete_points, unconfirmed_write

logger = logging.getLogger(__name__)

# from here on a node is tried alone, so that it cannot fail its neighbours
ATTEMPTS_BEFORE_ISOLATION = 2
TEXTS_PER_STOP_CHECK = 64  # texts between two looks at whether to stop


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """Nodes one worker holds a lease on; ``token`` proves it still does."""

    token: UUID
    nodes: list[Node]


def sync_nodes(build: IndexBuild, *, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Claim one batch of nodes, embed and write them, then complete pending deletions.

    Returns:
        How many rows it brought further; 0 when there was nothing left to do.

    Raises:
        StoreUnavailable, EmbeddingUnavailable, DiskFull, or whatever is wrong with the model or
            the spec: the claim was given back with its attempt; calling again later is safe.
    """
    fail_exhausted_nodes(build)
    claim = claim_nodes(build, settings.STRATA_SYNC_BATCH)
    if claim is None:
        return delete_removed_nodes(build)
    try:
        is_done = _sync_claim(build, claim, should_stop)
    except StrataError as error:
        is_attempt_counted = not (error.is_retryable or error.is_about_setup)
        release_claim(claim.token, error=str(error), is_attempt_counted=is_attempt_counted)
        if is_attempt_counted:
            return len(claim.nodes)
        raise
    except Exception as error:
        logger.warning("Syncing %d nodes of %s failed", len(claim.nodes), build, exc_info=True)
        release_claim(
            claim.token, error=f"{type(error).__name__}: {error}", is_attempt_counted=True
        )
        return len(claim.nodes)
    if not is_done:
        release_claim(claim.token, error="", is_attempt_counted=False)
        return 0
    return len(claim.nodes) + delete_removed_nodes(build)


def claim_nodes(build: IndexBuild, limit: int) -> NodeClaim | None:
    """Take a lease on up to ``limit`` unsynced nodes; the attempt is counted now.

    Nodes with repeated failed attempts are claimed one at a time.
    """
    token = uuid.uuid4()
    with transaction.atomic():
        claimable = Node.objects.claimable(build).order_by("pk")
        if connection.features.has_select_for_update_skip_locked:
            claimable = claimable.select_for_update(skip_locked=True)
        first_tries = claimable.filter(attempts__lt=ATTEMPTS_BEFORE_ISOLATION)[:limit]
        ids = list(first_tries.values_list("pk", flat=True))
        if not ids:
            suspects = claimable.filter(attempts__lt=settings.STRATA_MAX_ATTEMPTS)[:1]
            ids = list(suspects.values_list("pk", flat=True))
        if not ids:
            return None
        Node.objects.filter(pk__in=ids).update(
            attempts=F("attempts") + 1,
            lease_token=token,
            leased_until=lease_expiry(settings.STRATA_LEASE_SECONDS),
        )
    # Joined with its artifact: a node whose artifact is gone drops out here and is deleted soon.
    nodes = Node.objects.filter(lease_token=token).select_related("artifact", "page", "source")
    return NodeClaim(token, list(nodes.defer("page__text", "source__text")))


def release_claim(token: UUID, *, error: str, is_attempt_counted: bool) -> None:
    """Release the rest of a claim; give the attempt back unless ``is_attempt_counted``."""
    held = Node.objects.filter(lease_token=token)
    if is_attempt_counted:
        held.filter(state=Node.State.PENDING, attempts__gte=settings.STRATA_MAX_ATTEMPTS).update(
            state=Node.State.FAILED
        )
    else:
        held.update(attempts=F("attempts") - 1)
    held.update(lease_token=None, leased_until=None, last_error=error)


def release_all_leases() -> int:
    """Release every claim. Call it only in a process that runs all workers itself."""
    held = Node.objects.filter(lease_token__isnull=False)
    return held.update(lease_token=None, leased_until=None)


def fail_exhausted_nodes(build: IndexBuild) -> int:
    """Mark nodes as failed whose worker died during their last attempt."""
    return Node.objects.out_of_attempts(build).update(
        state=Node.State.FAILED, last_error="Its worker died at each attempt."
    )


def _sync_claim(build: IndexBuild, claim: NodeClaim, should_stop: Callable[[], bool]) -> bool:
    """Write a claim's nodes. False if it was told to stop before writing."""
    now = timezone.now()
    for node in claim.nodes:
        node.build = build
        if node.input_hash != node.synced_input_hash:
            node.embedded_at = now
    needs_vectors = [node for node in claim.nodes if node.input_hash != node.synced_input_hash]
    vectors = find_reusable_vectors(build, needs_vectors)
    copied_count = len(vectors)
    uncopied = [node for node in needs_vectors if node.point_id not in vectors]
    throughput_samples: list[tuple[str, int, float]] = []
    for model, texts in _group_by_model(build, uncopied).items():
        started = time.monotonic()
        for part in slices(sorted(texts, key=lambda n: n.token_count), TEXTS_PER_STOP_CHECK):
            if should_stop():
                return False
            vectors |= _embed(model, part)
        tokens = sum(node.token_count for node in texts)
        throughput_samples.append((embedding_work_key(model), tokens, time.monotonic() - started))
    points = _make_points(build, needs_vectors, vectors)
    still_held_ids = set(
        Node.objects.unsynced(build)
        .filter(lease_token=claim.token, leased_until__gt=Now())
        .values_list("point_id", flat=True)
    )
    store = get_store()
    kinds = {node.point_id: node.kind for node in claim.nodes}
    for kind in set(kinds.values()):
        collection = ensure_collection(build, kind)
        of_kind = [p for p in points if kinds[p.id] == kind and p.id in still_held_ids]
        if of_kind:
            with unconfirmed_write(build, collection, [point.id for point in of_kind]):
                store.upsert(collection, of_kind)
        changed_payloads = {
            node.point_id: get_kind(kind).payload(node)
            for node in claim.nodes
            if node.kind == kind
            and node.input_hash == node.synced_input_hash
            and node.point_id in still_held_ids
        }
        if changed_payloads:
            with unconfirmed_write(build, collection, changed_payloads):
                store.replace_payloads(collection, changed_payloads)
    with transaction.atomic():
        # Locked, lest a row be planned anew between our look and our write.
        ours = Node.objects.unsynced(build).filter(
            lease_token=claim.token, point_id__in=still_held_ids
        )
        locked = ours.select_for_update().order_by("pk")
        finished = set(locked.values_list("point_id", flat=True))
        ours.exclude(synced_input_hash=F("input_hash")).update(embedded_at=now)
        ours.update(**synced_values())
        IndexBuild.objects.filter(pk=build.pk).update(
            copied_count=F("copied_count") + copied_count,
            embedded_count=F("embedded_count") + len(uncopied),
            embedded_tokens=F("embedded_tokens")
            + sum(tokens for _, tokens, _ in throughput_samples),
        )
        for work, tokens, seconds in throughput_samples:
            add_throughput_sample(work, tokens, seconds)
    if overtaken_ids := still_held_ids - finished:
        _undo_lost_writes(build, overtaken_ids, kinds)
    Node.objects.filter(lease_token=claim.token).update(lease_token=None, leased_until=None)
    return True


def _group_by_model(build: IndexBuild, nodes: Sequence[Node]) -> dict[EmbeddingSpec, list[Node]]:
    groups: dict[EmbeddingSpec, list[Node]] = {}
    for node in nodes:
        groups.setdefault(build.spec.embedding_spec_for(node.kind), []).append(node)
    return groups


def _embed(model: EmbeddingSpec, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    texts = [prepend_context(node.context, node.text) for node in nodes]
    dense = embedding.get_embedder(model).embed_documents(texts)
    return {node.point_id: vector for node, vector in zip(nodes, dense, strict=True)}


def _make_points(
    build: IndexBuild, nodes: Sequence[Node], vectors: Mapping[UUID, DenseVector]
) -> list[Point]:
    from indexing.stores import get_bm25_encoder

    bm25 = get_bm25_encoder(build.spec.sparse)
    return [
        Point(
            id=node.point_id,
            dense=vectors[node.point_id],
            sparse=None
            if node.kind in DENSE_ONLY_KINDS
            else bm25.encode_document(prepend_context(node.context, node.text)),
            payload=get_kind(node.kind).payload(node),
        )
        for node in nodes
    ]


def _undo_lost_writes(build: IndexBuild, point_ids: set[UUID], kinds: dict[UUID, str]) -> None:
    """Repair points written after their claim was lost: they may hold an older text than their row.

    Rows that still exist become pending with new vectors; points without a row are removed; rows
    marked for deletion remove their points later.
    """
    rows = Node.objects.filter(build=build, point_id__in=point_ids)
    rows.exclude(state=Node.State.DELETING).update(
        state=Node.State.PENDING, synced_input_hash="", lease_token=None, leased_until=None
    )
    rowless = point_ids - set(rows.values_list("point_id", flat=True))
    for kind in {kinds[point_id] for point_id in rowless}:
        of_kind = [point_id for point_id in rowless if kinds[point_id] == kind]
        delete_points(build, build.collection(kind), of_kind)


def ensure_collection(build: IndexBuild, kind: str) -> str:
    """The collection of this kind, made if it is not there yet."""
    name = build.collection(kind)
    fields = {**build.spec.filter_fields, **get_kind(kind).payload_fields}
    dimension = build.spec.embedding_spec_for(kind).dimension
    schema = CollectionSchema(dimension, fields, has_sparse=kind not in DENSE_ONLY_KINDS)
    get_store().ensure_collection(name, schema)
    return name


def delete_removed_nodes(build: IndexBuild, artifact_id: UUID | None = None) -> int:
    """Remove the points of deleted nodes, then their rows; how many rows went."""
    removable = Node.objects.deletable(build)
    if artifact_id is not None:
        removable = removable.filter(artifact=artifact_id)
    rows = list(removable.values_list("pk", "point_id", "kind")[:ROWS_PER_STATEMENT])
    if not rows:
        return 0
    for kind in {kind for _, _, kind in rows}:
        of_kind = [point_id for _, point_id, its in rows if its == kind]
        delete_points(build, build.collection(kind), of_kind)
    with transaction.atomic():
        deleting = Node.objects.filter(pk__in=[pk for pk, _, _ in rows], state=Node.State.DELETING)
        locked = deleting.select_for_update().order_by("pk")
        deleted_ids = set(locked.values_list("point_id", flat=True))
        deleting.delete()
    if replanned_ids := {point_id for _, point_id, _ in rows} - deleted_ids:
        _undo_lost_writes(build, replanned_ids, {point_id: kind for _, point_id, kind in rows})
    return len(rows)


def set_build_problem(
    build: IndexBuild, error: StrataError | None, *, field: str = "problem"
) -> None:
    """Save what blocks the build on the build; None clears it."""
    problem = "" if error is None else f"{error} {error.fix or ''}".strip()
    if getattr(build, field) != problem:
        IndexBuild.objects.filter(pk=build.pk).update(**{field: problem})
        setattr(build, field, problem)
