"""Writes to indexes: mirroring specs, planning the ledger, settling it.

The ledger is the queue: everything here can run twice, late, or beside itself on another
machine, and what it leaves undone the rows still say. Nothing here enqueues.
"""

import json
import logging
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from documents.exceptions import StrataError, Unparsable
from documents.models import Artifact, Page, Source, hash_text
from documents.services import refuse_artifact
from indexing import embedding
from indexing.chunking import embedded_text
from indexing.copying import copy_vectors
from indexing.exceptions import Uncuttable
from indexing.kinds import get_kind, hash_payload, recipe_kinds
from indexing.models import Index, IndexBuild, Node, lease_end, settled_values
from indexing.pace import embedding_with, note_pace
from indexing.spec import DENSE_KINDS, EmbeddingSpec
from indexing.specs import get_specs
from indexing.stores import get_store
from indexing.stores.base import CollectionSchema, DenseVector, Point

logger = logging.getLogger(__name__)

SUSPECT_ATTEMPTS = 2  # from here on a node is tried alone, lest it takes its neighbours along
EMBEDDING_SLICE = 64  # texts between two looks at whether to stop
ROWS_PER_STATEMENT = 500  # below SQLite's bound on parameters

# What planning writes anew to a row that exists.
PLANNED_FIELDS = [
    "kind", "artifact", "page", "source", "strategy", "chunk_index", "start_offset", "end_offset",
    "text", "context", "text_hash", "source_hash", "label_hash", "input_hash",
    "settled_input_hash", "payload_hash", "details", "embedded_at", "token_count",
    "embedding_model", "dimension", "state", "attempts", "last_error", "lease_token",
    "leased_until", "planned_at",
]  # fmt: skip

T = TypeVar("T")


# --- Indexes and builds ----------------------------------------------------------------------


def sync_indexes() -> list[str]:
    """Make every spec an index, and return what an operator should know.

    A recipe that changed while the index was empty replaces its build; one that changed under
    documents leaves the live build as it is. Search settings are taken over at once.
    """
    notes = []
    for name, spec in get_specs().items():
        with transaction.atomic():
            index, _ = Index.objects.get_or_create(name=name)
            if not _stands(index):
                continue
            live = index.live_build
            recipe = spec.model_dump(mode="json")
            if live is None:
                _start_live_build(index, recipe, spec.fingerprint)
            elif live.spec.fingerprint == spec.fingerprint:  # as this version of us takes both
                if (live.recipe, live.fingerprint) != (recipe, spec.fingerprint):
                    live.recipe, live.fingerprint = recipe, spec.fingerprint
                    live.save(update_fields=["recipe", "fingerprint"])
            elif not Artifact.objects.filter(index=name).exists():
                live.state, live.retired_at = IndexBuild.State.RETIRED, timezone.now()
                live.save(update_fields=["state", "retired_at"])
                _start_live_build(index, recipe, spec.fingerprint)
            else:
                notes.append(
                    f"specs/{name}.yaml changed what is stored; {live} goes on by its old recipe. "
                    f"What the new one takes: manage.py plan {name}; to make it: "
                    f"manage.py apply {name} --promote"
                )
    return notes


def _stands(index: Index) -> bool:
    """Whether no one has it removed; one that is gone comes back, as its file is there."""
    if index.removal_began_at is None:
        return True
    is_left = Artifact.objects.filter(index=index.pk).exists()
    if is_left or index.builds.filter(removed_at=None).exists():
        return False
    index.removal_began_at = None
    index.save(update_fields=["removal_began_at"])
    return True


def _start_live_build(index: Index, recipe: dict[str, Any], fingerprint: str) -> None:
    index.live_build = IndexBuild.objects.create(
        index=index,
        number=index.next_number(),
        recipe=recipe,
        fingerprint=fingerprint,
        state=IndexBuild.State.LIVE,
    )
    index.save(update_fields=["live_build"])


# --- Planning --------------------------------------------------------------------------------


def plan_nodes(artifact_id: UUID, build: IndexBuild, kinds: Collection[str] | None = None) -> None:
    """Make the ledger of ``build`` mirror one artifact as it is now: all of it, or its nodes
    of some kinds.

    New nodes and nodes that changed become pending, vanished ones doomed, the rest stays
    untouched. While the artifact waits to be parsed, its nodes stay as they are: readers keep
    what was there before.
    """
    while True:
        artifacts = Artifact.objects.filter(pk=artifact_id, index=build.index_id)
        artifact = artifacts.with_sources().first()
        if artifact is None:
            _doomable(build, artifact_id).update(state=Node.State.DOOMED)
            return
        if artifact.state in {Artifact.State.RECEIVED, Artifact.State.PARSING}:
            return
        seen = [(source.pk, source.text) for source in artifact.sources.all()]
        try:
            drafts = draft_nodes(artifact, build, kinds)
        except Uncuttable as error:
            # No later try would end otherwise; the document's owner must hear of it.
            refuse_artifact(artifact, Unparsable(error.code, error.detail))
            continue
        # Drafting took a while, and no lock was held: write only if it is still what is there.
        with transaction.atomic():
            current = Artifact.objects.select_for_update().filter(pk=artifact_id).first()
            is_same = current is not None and (current.revision, current.label_hash) == (
                artifact.revision,
                artifact.label_hash,
            )
            if is_same and seen == _content_seen(artifact_id):
                _write_plan(build, artifact_id, drafts, kinds)
                return


def draft_nodes(
    artifact: Artifact, build: IndexBuild, kinds: Collection[str] | None = None
) -> list[Node]:
    """Every node the recipe asks for of one artifact (of these kinds), unsaved and complete."""
    if artifact.state != Artifact.State.PARSED:
        return []
    spec = build.spec
    # Rows written behind our back may carry no hash or an old one; it must be true from here on.
    for source in artifact.sources.all():
        if source.content_hash != hash_text(source.text):
            source.save(update_fields=["content_hash"])
    drafts = []
    now = timezone.now()
    for kind in recipe_kinds(build):
        if kinds is not None and kind.name not in kinds:
            continue
        model = spec.embedding_of(kind.name)
        vectors = json.dumps([model.model_dump(), spec.sparse.model_dump()], sort_keys=True)
        for node in kind.draft(artifact, build):
            node.label_hash = artifact.label_hash
            node.input_hash = hash_text(f"{vectors}\n{embedded_text(node.context, node.text)}")
            node.payload_hash = hash_payload(kind.payload(node))
            node.embedding_model = model.model
            node.dimension = model.dimension
            node.planned_at = now
            drafts.append(node)
    return drafts


def _content_seen(artifact_id: UUID) -> list[Any]:
    return list(
        Source.objects.filter(artifact=artifact_id).order_by("ordinal").values_list("pk", "text")
    )


def _doomable(build: IndexBuild, artifact_id: UUID) -> Any:
    nodes = Node.objects.filter(build=build, artifact=artifact_id)
    return nodes.exclude(state=Node.State.DOOMED)


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
            if row.state == Node.State.DOOMED:
                # Its point may be going this moment: have it written whole.
                row.settled_input_hash = ""
            elif not _differs(row, draft):
                continue
            draft.settled_input_hash = row.settled_input_hash
            draft.embedded_at = row.embedded_at
        changed.append(draft)
    vanished = [
        row.pk
        for row in existing.values()
        if row.point_id not in wanted and row.state != Node.State.DOOMED
    ]
    moved = [existing[draft.point_id].pk for draft in changed if draft.point_id in existing]
    for part in _slices(vanished, ROWS_PER_STATEMENT):
        Node.objects.filter(pk__in=part).update(state=Node.State.DOOMED)
    # Places are unique: those about to be dealt out again are left first.
    for part in _slices(moved, ROWS_PER_STATEMENT):
        Node.objects.filter(pk__in=part).update(chunk_index=None)
    Node.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["build", "point_id"],
        update_fields=PLANNED_FIELDS,
        batch_size=ROWS_PER_STATEMENT,
    )


def _differs(row: Node, draft: Node) -> bool:
    """Whether the row must be settled again; the payload's hash covers its place."""
    return any(
        getattr(row, name) != getattr(draft, name)
        for name in ("text_hash", "source_hash", "label_hash", "input_hash", "payload_hash")
    )


# --- Settling --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """Nodes one worker holds a lease on; ``token`` proves it still does."""

    token: UUID
    nodes: list[Node]


def settle_nodes(build: IndexBuild, *, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Claim one batch of nodes, embed and write them, and let doomed ones go.

    Returns:
        How many rows it brought further; 0 when there was nothing left to do.

    Raises:
        StoreUnavailable, EmbeddingUnavailable, DiskFull, or whatever is wrong with the model or
            the spec: the claim was given back with its attempt; calling again later is safe.
    """
    give_up_exhausted(build)
    claim = claim_nodes(build, settings.STRATA_SETTLE_BATCH)
    if claim is None:
        return remove_doomed(build)
    try:
        is_done = _settle_claim(build, claim, should_stop)
    except StrataError as error:
        is_our_fault = not (error.is_retryable or error.is_about_setup)
        release_claim(claim.token, error=str(error), has_cost=is_our_fault)
        if is_our_fault:
            return len(claim.nodes)
        raise
    except Exception as error:
        logger.warning("Settling %d nodes of %s failed", len(claim.nodes), build, exc_info=True)
        release_claim(claim.token, error=f"{type(error).__name__}: {error}", has_cost=True)
        return len(claim.nodes)
    if not is_done:
        release_claim(claim.token, error="", has_cost=False)
        return 0
    return len(claim.nodes) + remove_doomed(build)


def claim_nodes(build: IndexBuild, limit: int) -> Claim | None:
    """Take a lease on up to ``limit`` unsettled nodes; the attempt is counted now.

    Nodes that saw their worker die are taken one at a time.
    """
    token = uuid.uuid4()
    with transaction.atomic():
        claimable = Node.objects.claimable(build).order_by("pk")
        if connection.features.has_select_for_update_skip_locked:
            claimable = claimable.select_for_update(skip_locked=True)
        fresh = claimable.filter(attempts__lt=SUSPECT_ATTEMPTS)[:limit]
        ids = list(fresh.values_list("pk", flat=True))
        if not ids:
            suspects = claimable.filter(attempts__lt=settings.STRATA_MAX_ATTEMPTS)[:1]
            ids = list(suspects.values_list("pk", flat=True))
        if not ids:
            return None
        Node.objects.filter(pk__in=ids).update(
            attempts=F("attempts") + 1,
            lease_token=token,
            leased_until=lease_end(settings.STRATA_LEASE_SECONDS),
        )
    # Joined with its artifact: a node whose artifact is gone drops out here and is doomed soon.
    nodes = Node.objects.filter(lease_token=token).select_related("artifact", "page", "source")
    return Claim(token, list(nodes.defer("page__text", "source__text")))


def release_claim(token: UUID, *, error: str, has_cost: bool) -> None:
    """Let go of what is left of a claim; without cost the attempt is given back."""
    held = Node.objects.filter(lease_token=token)
    if has_cost:
        held.filter(state=Node.State.PENDING, attempts__gte=settings.STRATA_MAX_ATTEMPTS).update(
            state=Node.State.FAILED
        )
    else:
        held.update(attempts=F("attempts") - 1)
    held.update(lease_token=None, leased_until=None, last_error=error)


def release_leases() -> int:
    """Let go of every claim. Only for the one process that owns all work."""
    held = Node.objects.filter(lease_token__isnull=False)
    return held.update(lease_token=None, leased_until=None)


def give_up_exhausted(build: IndexBuild) -> int:
    """Fail the nodes whose worker died with their last attempt."""
    return Node.objects.exhausted(build).update(
        state=Node.State.FAILED, last_error="Its worker died at each attempt."
    )


def _settle_claim(build: IndexBuild, claim: Claim, should_stop: Callable[[], bool]) -> bool:
    """Write a claim's nodes. False if it was told to stop before writing."""
    now = timezone.now()
    for node in claim.nodes:
        node.build = build
        if node.input_hash != node.settled_input_hash:
            node.embedded_at = now
    needs_vectors = [node for node in claim.nodes if node.input_hash != node.settled_input_hash]
    vectors = copy_vectors(build, needs_vectors)
    copied_count = len(vectors)
    uncopied = [node for node in needs_vectors if node.point_id not in vectors]
    paces: list[tuple[str, int, float]] = []
    for model, texts in _by_model(build, uncopied).items():
        started = time.monotonic()
        for part in _slices(sorted(texts, key=lambda n: n.token_count), EMBEDDING_SLICE):
            if should_stop():
                return False
            vectors |= _embed(model, part)
        tokens = sum(node.token_count for node in texts)
        paces.append((embedding_with(model), tokens, time.monotonic() - started))
    points = _make_points(build, needs_vectors, vectors)
    held = set(
        Node.objects.unsettled(build)
        .filter(lease_token=claim.token, leased_until__gt=Now())
        .values_list("point_id", flat=True)
    )
    store = get_store()
    kinds = {node.point_id: node.kind for node in claim.nodes}
    for kind in set(kinds.values()):
        collection = ensure_collection(build, kind)
        of_kind = [p for p in points if kinds[p.id] == kind and p.id in held]
        if of_kind:
            store.upsert(collection, of_kind)
        relabelled = {
            node.point_id: get_kind(kind).payload(node)
            for node in claim.nodes
            if node.kind == kind
            and node.input_hash == node.settled_input_hash
            and node.point_id in held
        }
        if relabelled:
            store.replace_payloads(collection, relabelled)
    with transaction.atomic():
        # Locked, lest a row be planned anew between our look and our write.
        ours = Node.objects.unsettled(build).filter(lease_token=claim.token, point_id__in=held)
        locked = ours.select_for_update().order_by("pk")
        finished = set(locked.values_list("point_id", flat=True))
        ours.exclude(settled_input_hash=F("input_hash")).update(embedded_at=now)
        ours.update(**settled_values())
        IndexBuild.objects.filter(pk=build.pk).update(
            copied_count=F("copied_count") + copied_count,
            embedded_count=F("embedded_count") + len(uncopied),
            embedded_tokens=F("embedded_tokens") + sum(tokens for _, tokens, _ in paces),
        )
        for work, tokens, seconds in paces:
            note_pace(work, tokens, seconds)
    if lost := held - finished:
        _write_again(build, lost, kinds)
    Node.objects.filter(lease_token=claim.token).update(lease_token=None, leased_until=None)
    return True


def _by_model(build: IndexBuild, nodes: Sequence[Node]) -> dict[EmbeddingSpec, list[Node]]:
    groups: dict[EmbeddingSpec, list[Node]] = {}
    for node in nodes:
        groups.setdefault(build.spec.embedding_of(node.kind), []).append(node)
    return groups


def _embed(model: EmbeddingSpec, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    texts = [embedded_text(node.context, node.text) for node in nodes]
    dense = embedding.get_embedder(model).embed_documents(texts)
    return {node.point_id: vector for node, vector in zip(nodes, dense, strict=True)}


def _make_points(
    build: IndexBuild, nodes: Sequence[Node], vectors: Mapping[UUID, DenseVector]
) -> list[Point]:
    from indexing.stores import get_bm25

    bm25 = get_bm25(build.spec.sparse)
    return [
        Point(
            id=node.point_id,
            dense=vectors[node.point_id],
            sparse=None
            if node.kind in DENSE_KINDS
            else bm25.encode_document(embedded_text(node.context, node.text)),
            payload=get_kind(node.kind).payload(node),
        )
        for node in nodes
    ]


def _write_again(build: IndexBuild, point_ids: set[UUID], kinds: dict[UUID, str]) -> None:
    """Undo a write whose claim was overtaken: the point may hold an older text than its row.

    Rows that stand are made due whole; points whose row is gone go too; doomed rows take
    their points along by themselves.
    """
    rows = Node.objects.filter(build=build, point_id__in=point_ids)
    rows.exclude(state=Node.State.DOOMED).update(
        state=Node.State.PENDING, settled_input_hash="", lease_token=None, leased_until=None
    )
    rowless = point_ids - set(rows.values_list("point_id", flat=True))
    for kind in {kinds[point_id] for point_id in rowless}:
        of_kind = [point_id for point_id in rowless if kinds[point_id] == kind]
        get_store().delete(build.collection(kind), of_kind)


def ensure_collection(build: IndexBuild, kind: str) -> str:
    """The collection of this kind, made if it is not there yet."""
    name = build.collection(kind)
    fields = {**build.spec.filter_fields, **get_kind(kind).payload_fields}
    dimension = build.spec.embedding_of(kind).dimension
    schema = CollectionSchema(dimension, fields, has_sparse=kind not in DENSE_KINDS)
    get_store().ensure_collection(name, schema)
    return name


def remove_doomed(build: IndexBuild, artifact_id: UUID | None = None) -> int:
    """Remove the points of doomed nodes, then their rows; how many rows went."""
    removable = Node.objects.removable(build)
    if artifact_id is not None:
        removable = removable.filter(artifact=artifact_id)
    rows = list(removable.values_list("pk", "point_id", "kind")[:ROWS_PER_STATEMENT])
    if not rows:
        return 0
    store = get_store()
    for kind in {kind for _, _, kind in rows}:
        store.delete(build.collection(kind), [point_id for _, point_id, its in rows if its == kind])
    with transaction.atomic():
        doomed = Node.objects.filter(pk__in=[pk for pk, _, _ in rows], state=Node.State.DOOMED)
        locked = doomed.select_for_update().order_by("pk")
        gone = set(locked.values_list("point_id", flat=True))
        doomed.delete()
    if wanted_again := {point_id for _, point_id, _ in rows} - gone:
        _write_again(build, wanted_again, {point_id: kind for _, point_id, kind in rows})
    return len(rows)


def note_problem(build: IndexBuild, error: StrataError | None, *, field: str = "problem") -> None:
    """Keep what holds the build up where people look; None once nothing does."""
    problem = "" if error is None else f"{error} {error.fix or ''}".strip()
    if getattr(build, field) != problem:
        IndexBuild.objects.filter(pk=build.pk).update(**{field: problem})
        setattr(build, field, problem)


def embed_again(nodes: QuerySet[Node]) -> int:
    """Have these nodes embedded and written anew, whatever the store holds of them; how many.

    Doomed nodes stay doomed, and retired builds are left alone.
    """
    standing = nodes.exclude(state=Node.State.DOOMED)
    return _make_pending(standing, settled_input_hash="")


def retry_failed(nodes: QuerySet[Node]) -> int:
    """Give the failed ones of these nodes their attempts back; how many."""
    return _make_pending(nodes.filter(state=Node.State.FAILED))


def _make_pending(nodes: QuerySet[Node], **values: Any) -> int:
    receiving = IndexBuild.objects.receiving().values("pk")
    return nodes.filter(build__in=receiving).update(
        state=Node.State.PENDING, attempts=0, last_error="", lease_token=None, leased_until=None,
        **values,
    )  # fmt: skip


# --- Watching over it ------------------------------------------------------------------------


def audit_documents(build: IndexBuild) -> list[UUID]:
    """Look at the next few artifacts for what no hash shows yet, and return those to plan.

    Text and titles changed behind Django's back, rows whose source is gone: a slice each
    time, so that the whole index is looked at in turn at a bounded cost.
    """
    artifacts = Artifact.objects.filter(index=build.index_id, state=Artifact.State.PARSED)
    following = artifacts.order_by("pk")
    if build.audit_cursor is not None:
        following = following.filter(pk__gt=build.audit_cursor)
    due, looked_at, last = [], 0, None
    for artifact in following[: settings.STRATA_AUDIT_SOURCES].prefetch_related("sources"):
        if looked_at >= settings.STRATA_AUDIT_SOURCES:
            break
        last = artifact.pk
        sources = list(artifact.sources.all())
        looked_at += max(1, len(sources))
        if artifact.label_hash != artifact.compute_label_hash():
            artifact.save(update_fields=["label_hash"])
            due.append(artifact.pk)
        elif any(source.content_hash != hash_text(source.text) for source in sources):
            due.append(artifact.pk)
    IndexBuild.objects.filter(pk=build.pk).update(audit_cursor=last)
    return due + list(bereft_artifacts(build))


def bereft_artifacts(build: IndexBuild) -> Any:
    """Ids of artifacts that are gone, or lost a source or page, but still have nodes to doom."""
    nodes = Node.objects.filter(build=build).exclude(state=Node.State.DOOMED)
    has_source, has_page, is_there = (
        Exists(model.objects.filter(pk=OuterRef(name)))
        for model, name in ((Source, "source_id"), (Page, "page_id"), (Artifact, "artifact_id"))
    )
    is_bereft = (
        Q(~has_source, source_id__isnull=False) | Q(~has_page, page_id__isnull=False) | Q(~is_there)
    )
    return nodes.filter(is_bereft).values_list("artifact_id", flat=True).distinct()


def _slices(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
