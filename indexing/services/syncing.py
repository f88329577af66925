"""Syncs the store with the ledger: claim nodes, embed and write them, delete what was removed."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from uuid import UUID

from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from core.exceptions import StrataError
from core.leases import NO_LEASE, Claim, describe_error
from core.stages import describe, stage
from documents.models import TEXTS_OF_PAGE
from indexing import embedding
from indexing.chunking import prepend_context
from indexing.contexts import embed_in_context
from indexing.drafting import make_payload
from indexing.embedding.vectors import Vectors
from indexing.kinds import BUILT_IN_FIELDS, ID_FIELDS, KINDS
from indexing.models import IndexBuild, Node, synced_values
from indexing.reuse import find_reusable_vectors
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.services.documents import changing_nodes
from indexing.sparse_vectors import get_sparse_encoder
from indexing.spec import EmbeddingSpec
from indexing.stores import get_store
from indexing.stores.base import CollectionSchema, DenseVector, Point, SparseVector
from indexing.throughput import add_throughput_sample, embedding_work_key
from indexing.unconfirmed_writes import delete_points, unconfirmed_write

# Texts between two checks for a stop request or a build that waits: half a second of work. 16 would
# take a tenth more processor time, because texts of different lengths are padded to the longest.
TEXTS_PER_CHECK = 32
TEXTS_PER_SORT = 256  # claimed together and sorted by length, so that little is padded
# What was embedded in this time is written, and searches find it, before more is embedded.
SECONDS_PER_WRITE = 5


def sync_nodes(
    build: IndexBuild,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    is_awaited: Callable[[], bool] = lambda: False,
) -> int:
    """Claim one batch of nodes for each embedding model, embed and write them, then complete
    pending deletions. While another build waits (``is_awaited``), a batch is small, or ends early.

    Returns:
        How many rows it processed; 0 when there was nothing left to do.

    Raises:
        StoreUnavailable, EmbeddingUnavailable, DiskFull, or another error of a model or the spec:
            the claim was released without counting the attempt, and nodes of other models were
            synced; calling again later is safe.
    """
    fail_exhausted_nodes(build)
    count, outage = 0, None
    kinds_by_model = _group_kinds_by_model(build)
    for kinds in kinds_by_model:
        claim = None
        if not should_stop():
            limit = TEXTS_PER_CHECK if is_awaited() else settings.STRATA_SYNC_BATCH
            claim = claim_nodes(build, limit, kinds if len(kinds_by_model) > 1 else None)
        if claim is None:
            continue
        try:
            count += _sync_claim(build, claim, should_stop, is_awaited)
        except StrataError as error:
            outage = error
    if outage is not None:
        raise outage
    return count + (0 if should_stop() else delete_removed_nodes(build))


def write_vectors(
    build: IndexBuild, nodes: QuerySet[Node], vectors: Mapping[UUID, DenseVector]
) -> None:
    """Write the points of these nodes with vectors that were computed earlier, by point id."""
    nodes_by_kind: dict[str, list[Node]] = {}
    # Without the texts, which many nodes share and each would hold again.
    rows = nodes.select_related("artifact", "page", "source").defer(*TEXTS_OF_PAGE, "source__text")
    for node in rows:
        node.build = build
        nodes_by_kind.setdefault(node.kind, []).append(node)
    for kind, of_kind in nodes_by_kind.items():
        points = _make_points(build, of_kind, vectors, _encode_terms(build, of_kind))
        get_store().upsert(ensure_collection(build, kind), points)


def draft_points(build: IndexBuild, nodes: Sequence[Node]) -> list[Point]:
    """The points of these nodes with newly computed vectors, as syncing would write them."""
    vectors: dict[UUID, DenseVector] = {}
    for model, of_model in _group_by_model(build, nodes).items():
        vectors |= _embed(model, of_model)
    return _make_points(build, nodes, vectors, _encode_terms(build, nodes))


def claim_nodes(
    build: IndexBuild, limit: int, kinds: Collection[str] | None = None
) -> Claim[Node] | None:
    """Claim up to ``limit`` unsynced nodes of these kinds with the lowest turns."""
    nodes = Node.objects.unsynced(build)
    if kinds is not None:
        nodes = nodes.filter(kind__in=kinds)
    return nodes.order_by("turn", "pk").claim_batch(limit)


def fail_exhausted_nodes(build: IndexBuild) -> int:
    """Give up nodes whose worker died during their last attempt; return how many."""
    nodes = Node.objects.claimable(build).filter(attempts__gte=Node.max_attempts())
    artifact_ids = set(nodes.values_list("artifact_id", flat=True))
    if not artifact_ids:
        return 0
    with changing_nodes(build.pk, artifact_ids):
        return Node.objects.unsynced(build).give_up_exhausted()


def _sync_claim(
    build: IndexBuild,
    claim: Claim[Node],
    should_stop: Callable[[], bool],
    is_awaited: Callable[[], bool] = lambda: False,
) -> int:
    """Write the claimed nodes and release the others; return how many, or 0 after a stop
    request."""
    rows = claim.rows.select_related("artifact", "page", "source")
    # Nodes of a deleted artifact are left out: they will be deleted.
    nodes = [
        node
        for node in rows.defer(*TEXTS_OF_PAGE, "source__text").order_by("turn", "pk")
        if node.artifact_id is None or node.artifact is not None
    ]
    count: int | None = None
    with claim.working():
        count = _write_claimed(build, claim, nodes, should_stop, is_awaited)
        if count < len(nodes):
            claim.give_back()
    if count is None:  # some may have been given up
        with changing_nodes(build.pk, {node.artifact_id for node in nodes}):
            pass
    return len(nodes) if count is None else count


@stage("sync")
def _write_claimed(
    build: IndexBuild,
    claim: Claim[Node],
    nodes: Sequence[Node],
    should_stop: Callable[[], bool],
    is_awaited: Callable[[], bool],
) -> int:
    """Embed and write the nodes, or the first of them if they take long, or another build or a
    document with an earlier turn waits; return how many, or 0 if a stop was requested before
    writing."""
    artifact_ids = {str(node.artifact_id) for node in nodes if node.artifact_id is not None}
    describe({"strata.artifact_ids": sorted(artifact_ids)})
    now = timezone.now()
    for node in nodes:
        node.build = build
        if node.input_hash != node.synced_input_hash:
            node.embedded_at = now
    needs_vectors = [node for node in nodes if node.input_hash != node.synced_input_hash]
    if any(KINDS[node.kind].has_sparse for node in needs_vectors):
        get_sparse_encoder(build.spec.sparse)  # without its model, no text is embedded in vain
    vectors = find_reusable_vectors(build, needs_vectors)
    copied_count = len(vectors)
    uncopied = [node for node in needs_vectors if node.point_id not in vectors]
    throughput_samples: list[tuple[str, int, float]] = []
    deadline = time.monotonic() + SECONDS_PER_WRITE
    earlier = Node.objects.claimable(build).filter(turn__lt=nodes[-1].turn if nodes else 0)
    for model, texts in _group_by_model(build, uncopied).items():
        started, tokens = time.monotonic(), 0
        vector_of_line: dict[str, Vectors] = {}  # neighbours have the same title
        for part in _sort_by_length(texts):
            if should_stop():
                return 0
            if vectors and (is_awaited() or time.monotonic() > deadline or earlier.exists()):
                break
            vectors |= _embed(model, part, vector_of_line)
            tokens += sum(node.token_count for node in part)
        throughput_samples.append((embedding_work_key(model), tokens, time.monotonic() - started))
    needs_vectors = [node for node in needs_vectors if node.point_id in vectors]
    skipped_ids = {node.point_id for node in uncopied if node.point_id not in vectors}
    nodes = [node for node in nodes if node.point_id not in skipped_ids]
    terms: dict[UUID, SparseVector] = {}
    for part in slices(needs_vectors, TEXTS_PER_CHECK):
        if should_stop():
            return 0
        terms |= _encode_terms(build, part)
    points = _make_points(build, needs_vectors, vectors, terms)
    claimed = Node.objects.unsynced(build).filter(lease_token=claim.token)
    claimed_ids = set(claimed.filter(leased_until__gt=Now()).values_list("point_id", flat=True))
    claimed_ids -= skipped_ids
    store = get_store()
    kinds = {node.point_id: node.kind for node in nodes}
    for kind in set(kinds.values()):
        collection = ensure_collection(build, kind)
        of_kind = [p for p in points if kinds[p.id] == kind and p.id in claimed_ids]
        if of_kind:
            with stage("write"), unconfirmed_write(build, collection, [p.id for p in of_kind]):
                store.upsert(collection, of_kind)
        changed_payloads = {
            node.point_id: make_payload(node)
            for node in nodes
            if node.kind == kind
            and node.input_hash == node.synced_input_hash
            and node.point_id in claimed_ids
        }
        if changed_payloads:
            with stage("write"), unconfirmed_write(build, collection, changed_payloads):
                store.replace_payloads(collection, changed_payloads)
    with changing_nodes(build.pk, {node.artifact_id for node in nodes}):
        # Locked, so that no row is planned again between this read and the update.
        written = claimed.filter(point_id__in=claimed_ids)
        locked = written.select_for_update().order_by("pk")
        finished = set(locked.values_list("point_id", flat=True))
        written.exclude(synced_input_hash=F("input_hash")).update(embedded_at=now)
        written.update(**synced_values())
        IndexBuild.objects.filter(pk=build.pk).update(
            copied_count=F("copied_count") + copied_count,
            embedded_count=F("embedded_count") + len(needs_vectors) - copied_count,
            embedded_tokens=F("embedded_tokens")
            + sum(tokens for _, tokens, _ in throughput_samples),
        )
        for work, tokens, seconds in throughput_samples:
            add_throughput_sample(work, tokens, seconds)
    if overtaken_ids := claimed_ids - finished:
        overtaken = {node.artifact_id for node in nodes if node.point_id in overtaken_ids}
        _repair_late_writes(build, overtaken_ids, kinds, overtaken)
    return len(nodes)


def _sort_by_length(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    """Nodes of about the same length, ``TEXTS_PER_CHECK`` at a time, those with the first turns
    first."""
    for part in slices(nodes, TEXTS_PER_SORT):
        yield from slices(sorted(part, key=lambda node: node.token_count), TEXTS_PER_CHECK)


def _group_kinds_by_model(build: IndexBuild) -> list[list[str]]:
    groups: dict[EmbeddingSpec, list[str]] = {}
    for kind in build.spec.kinds:
        groups.setdefault(build.spec.embedding_spec_for(kind), []).append(kind)
    return list(groups.values())


def _group_by_model(build: IndexBuild, nodes: Sequence[Node]) -> dict[EmbeddingSpec, list[Node]]:
    groups: dict[EmbeddingSpec, list[Node]] = {}
    for node in nodes:
        groups.setdefault(build.spec.embedding_spec_for(node.kind), []).append(node)
    return groups


def _embed(
    model: EmbeddingSpec, nodes: Sequence[Node], vector_of_line: dict[str, Vectors] | None = None
) -> dict[UUID, DenseVector]:
    dense = embed_in_context(embedding.get_embedder(model), nodes, vector_of_line)
    return {node.point_id: vector for node, vector in zip(nodes, dense, strict=True)}


def _encode_terms(build: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, SparseVector]:
    """The sparse vectors of those of the nodes that have one, by point id."""
    with_terms = [node for node in nodes if KINDS[node.kind].has_sparse]
    if not with_terms:
        return {}
    texts = [prepend_context(node.context, node.text) for node in with_terms]
    encoded = get_sparse_encoder(build.spec.sparse).encode_documents(texts)
    return {node.point_id: each for node, each in zip(with_terms, encoded, strict=True)}


def _make_points(
    build: IndexBuild,
    nodes: Sequence[Node],
    vectors: Mapping[UUID, DenseVector],
    terms: Mapping[UUID, SparseVector],
) -> list[Point]:
    return [
        Point(
            id=node.point_id,
            dense=vectors[node.point_id],
            sparse=terms.get(node.point_id),
            payload=make_payload(node),
        )
        for node in nodes
    ]


def _repair_late_writes(
    build: IndexBuild,
    point_ids: set[UUID],
    kinds: Mapping[UUID, str],
    artifact_ids: Collection[UUID | None],
) -> None:
    """Repair points written after their claim was lost: they may hold an older text than their row.

    Rows that still exist become pending with new vectors; points without a row are removed; rows
    marked for deletion remove their points later.
    """
    rows = Node.objects.filter(build=build, point_id__in=point_ids)
    with changing_nodes(build.pk, artifact_ids):
        rows.exclude(state=Node.State.DELETING).update(
            state=Node.State.PENDING, synced_input_hash="", **NO_LEASE
        )
    rowless = point_ids - set(rows.values_list("point_id", flat=True))
    for kind in {kinds[point_id] for point_id in rowless}:
        of_kind = [point_id for point_id in rowless if kinds[point_id] == kind]
        delete_points(build, build.collection(kind), of_kind)


def ensure_collection(build: IndexBuild, kind: str) -> str:
    """The name of this kind's collection; creates it if it does not exist."""
    name = build.collection(kind)
    fields = {
        **BUILT_IN_FIELDS,
        **build.spec.declared_fields,
        **ID_FIELDS,
        **KINDS[kind].indexed_fields,
    }
    store_settings = build.store_settings
    schema = CollectionSchema(
        build.spec.embedding_spec_for(kind).dimension,
        fields,
        has_sparse=KINDS[kind].has_sparse,
        has_idf=build.spec.sparse.has_idf,
        datatype=store_settings.vectors,
    )
    get_store().ensure_collection(name, schema, store_settings)
    return name


def delete_removed_nodes(build: IndexBuild, artifact_id: UUID | None = None) -> int:
    """Remove the points of deleted nodes, then their rows; return how many rows."""
    removable = Node.objects.deletable(build)
    if artifact_id is not None:
        removable = removable.filter(artifact=artifact_id)
    rows = list(removable.only("pk", "point_id", "kind", "artifact_id")[:ROWS_PER_STATEMENT])
    if not rows:
        return 0
    kinds = {row.point_id: row.kind for row in rows}
    artifact_ids = {row.artifact_id for row in rows}
    for kind in set(kinds.values()):
        of_kind = [point_id for point_id, point_kind in kinds.items() if point_kind == kind]
        delete_points(build, build.collection(kind), of_kind)
    with changing_nodes(build.pk, artifact_ids):
        deleting = Node.objects.filter(pk__in=[row.pk for row in rows], state=Node.State.DELETING)
        locked = deleting.select_for_update().order_by("pk")
        deleted_ids = set(locked.values_list("point_id", flat=True))
        deleting.delete()
    if replanned_ids := kinds.keys() - deleted_ids:
        _repair_late_writes(build, replanned_ids, kinds, artifact_ids)
    return len(rows)


def set_build_problem(
    build: IndexBuild, error: StrataError | None, *, field: str = "problem"
) -> None:
    """Save what blocks the build on the build; None clears it."""
    problem = "" if error is None else describe_error(error)
    if getattr(build, field) != problem:
        IndexBuild.objects.filter(pk=build.pk).update(**{field: problem})
        setattr(build, field, problem)
