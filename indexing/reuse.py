"""Finds vectors that the same model has already computed for the same text: in another build of the
index, or in this process when it compared a text before indexing it."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef

from core.text import hash_text
from indexing.chunking import prepend_context
from indexing.contexts import TextInContext
from indexing.drafting import hash_payload
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.spec import EmbeddingSpec
from indexing.stores import get_store
from indexing.stores.base import DenseVector

KEPT_VECTORS = 1_000  # 1.5 MB of 384 dimensions; enough for ten full requests of findings

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
    kind.

    Raises:
        StoreUnavailable: retry helps.
    """
    copied = _find_kept(build, nodes)
    donor_builds = (
        IndexBuild.objects.not_retired().filter(index=build.index_id).exclude(pk=build.pk)
    )
    for donor in donor_builds.readable():
        missing = [
            node
            for node in nodes
            if node.point_id not in copied and donor.spec.has_vectors_of(build.spec, node.kind)
        ]
        if missing:
            copied |= _read_vectors_from(donor, missing)
    return copied


def _find_kept(build: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    if not _kept:
        return {}
    keys = {node.point_id: _key(build.spec.embedding_spec_for(node.kind), node) for node in nodes}
    with _kept_lock:
        return {point_id: _kept[key] for point_id, key in keys.items() if key in _kept}


def _read_vectors_from(donor: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    expected_nodes = {node.point_id: _describe(node) for node in nodes}
    # Nodes that are to be embedded again have vectors that must not be copied.
    outdated = IndexedDocument.objects.filter(build=donor, artifact=OuterRef("artifact_id"))
    rows = Node.objects.filter(
        ~Exists(outdated.exclude(kinds_to_regenerate=[])),
        build=donor,
        point_id__in=expected_nodes,
        state=Node.State.SYNCED,
    )
    rows_by_kind: dict[str, dict[UUID, str]] = {}
    for row in rows.only("point_id", "kind", "text", "context", "details", "payload_hash"):
        if expected_nodes[row.point_id] == _describe(row):
            rows_by_kind.setdefault(row.kind, {})[row.point_id] = row.payload_hash
    copied = {}
    for kind, payload_hashes in rows_by_kind.items():
        points = get_store().retrieve(
            donor.collection(kind), list(payload_hashes), with_vectors=True
        )
        for point_id, point in points.items():
            # The point may have been written again, for another text, after its row was read.
            if point.dense is not None and hash_payload(point.payload) == payload_hashes[point_id]:
                copied[point_id] = point.dense
    return copied


def _describe(node: Node) -> tuple[str, str, str, float | None]:
    return node.kind, node.text, node.context, node.context_weight
