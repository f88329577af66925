"""Finds vectors that the same model has already computed for the same text: in another build of the
index, in this build in an earlier context, or in this process when it compared a text before
indexing it."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from uuid import UUID

import numpy as np
from django.db.models import Exists, OuterRef

from core.text import hash_text
from indexing import embedding
from indexing.chunking import prepend_context
from indexing.contexts import TextInContext, replace_contexts
from indexing.drafting import hash_payload, hash_vector_inputs
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.spec import EmbeddingSpec
from indexing.stores import get_store
from indexing.stores.base import DenseVector

KEPT_VECTORS = 1_000  # 1.5 MB of 384 dimensions; enough for ten requests of 100 texts

_Key = tuple[EmbeddingSpec, str, float | None]
_kept: OrderedDict[_Key, DenseVector] = OrderedDict()  # the oldest first
_kept_lock = threading.Lock()


def keep_vectors(
    spec: EmbeddingSpec, texts: Sequence[TextInContext], vectors: Sequence[DenseVector]
) -> None:
    """Keep the vectors of these texts by ``embed_in_context``, for syncing.

    They are kept in memory only: another process, or this one after many more texts, embeds the
    texts again.
    """
    with _kept_lock:
        for text, vector in zip(texts, vectors, strict=True):
            _kept[_key(spec, text)] = vector
        while len(_kept) > KEPT_VECTORS:
            _kept.popitem(last=False)


def _key(spec: EmbeddingSpec, text: TextInContext) -> _Key:
    return spec, hash_text(prepend_context(text.context, text.text)), text.context_weight


def find_reusable_vectors(build: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    """Dense vectors that exist already for these nodes, by point id.

    A vector kept by this process is reusable if context with its weight, text and embedding spec
    (with prefixes) are equal. One of another build of the index also needs an equal point id and
    kind, and no fewer digits. One with another context that was added by a weight, also of this
    build, needs only the context to be embedded.

    Raises:
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    copied = _find_kept(build, nodes)
    others = IndexBuild.objects.not_retired().filter(index=build.index_id).exclude(pk=build.pk)
    for donor in others.readable():
        if _is_coarser(donor, build):
            continue
        missing = [
            node
            for node in nodes
            if node.point_id not in copied and donor.spec.has_vectors_of(build.spec, node.kind)
        ]
        if missing:
            copied |= _read_vectors_from(donor, missing)
    missing = [node for node in nodes if node.point_id not in copied and node.synced_input_hash]
    return copied | _read_vectors_of_old_contexts(build, missing)


def _is_coarser(donor: IndexBuild, build: IndexBuild) -> bool:
    """Whether the donor has vectors in half precision, and the build in full."""
    return donor.store_settings.vectors == "float16" != build.store_settings.vectors


def _find_kept(build: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    if not _kept:
        return {}
    keys = {node.point_id: _key(build.spec.embedding_spec_for(node.kind), node) for node in nodes}
    with _kept_lock:
        return {point_id: _kept[key] for point_id, key in keys.items() if key in _kept}


def _read_vectors_from(donor: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    expected_nodes = {node.point_id: node for node in nodes}
    # Nodes that are to be embedded again have vectors that must not be copied.
    outdated = IndexedDocument.objects.filter(build=donor, artifact=OuterRef("artifact_id"))
    rows = Node.objects.filter(
        ~Exists(outdated.exclude(kinds_to_regenerate=[])),
        build=donor,
        point_id__in=expected_nodes,
        state=Node.State.SYNCED,
    )
    rows_by_kind: dict[str, dict[UUID, Node]] = {}
    for row in rows.only("point_id", "kind", "text", "context", "details", "payload_hash"):
        node = expected_nodes[row.point_id]
        if (row.kind, row.text) == (node.kind, node.text) and (
            _has_context_of(row, node) or (row.context_weight and node.context_weight)
        ):
            rows_by_kind.setdefault(row.kind, {})[row.point_id] = row
    copied, others = {}, []
    for kind, found in rows_by_kind.items():
        points = get_store().retrieve(donor.collection(kind), list(found), with_vectors=True)
        for point_id, point in points.items():
            row, node = found[point_id], expected_nodes[point_id]
            # The point may have been written again, for another text, after its row was read.
            if point.dense is None or hash_payload(point.payload) != row.payload_hash:
                continue
            if _has_context_of(row, node):
                copied[point_id] = point.dense
            else:
                others.append((point.dense, row, node))
    return copied | _replace_contexts(donor, others)


def _read_vectors_of_old_contexts(
    build: IndexBuild, nodes: Sequence[Node]
) -> dict[UUID, DenseVector]:
    """The vectors of nodes whose points have another title, or no summary yet, and else all that
    they are to have."""
    nodes_by_kind: dict[str, dict[UUID, Node]] = {}
    for node in nodes:
        if node.context_weight and node.artifact and node.context.startswith(node.artifact.title):
            nodes_by_kind.setdefault(node.kind, {})[node.point_id] = node
    others = []
    for kind, expected in nodes_by_kind.items():
        points = get_store().retrieve(build.collection(kind), list(expected), with_vectors=True)
        for point_id, point in points.items():
            node = expected[point_id]
            assert node.artifact is not None
            old_title = str(point.payload.get("artifact_title"))
            context = node.context.replace(node.artifact.title, old_title, 1)
            for old_context in (context, context.rpartition("\n")[0]):
                old = Node(kind=kind, text=node.text, context=old_context, details=node.details)
                is_known = hash_vector_inputs(old, build.spec) == node.synced_input_hash
                if is_known and point.dense is not None:
                    others.append((point.dense, old, node))
    return _replace_contexts(build, others)


def _replace_contexts(
    build: IndexBuild, found: Sequence[tuple[DenseVector, Node, Node]]
) -> dict[UUID, DenseVector]:
    """The vectors of the second nodes, from those of the first, which the build's model made."""
    if not found:
        return {}
    vectors, old, new = zip(*found, strict=True)
    embedder = embedding.get_embedder(build.spec.embedding_spec_for(new[0].kind))
    replaced = replace_contexts(embedder, np.stack(vectors), old, new)
    return {
        node.point_id: vector
        for node, vector in zip(new, replaced, strict=True)
        if vector is not None
    }


def _has_context_of(row: Node, node: Node) -> bool:
    return (row.context, row.context_weight) == (node.context, node.context_weight)
