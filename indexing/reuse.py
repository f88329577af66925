"""Finds vectors that another build of the index has for the same model, text and context."""

from collections.abc import Sequence
from uuid import UUID

from indexing.kinds.registry import hash_payload
from indexing.models import IndexBuild, Node
from indexing.stores import get_store
from indexing.stores.base import DenseVector


def find_reusable_vectors(build: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    """Dense vectors that other builds of the index hold for these nodes, by point id.

    A vector is reusable if point id, kind, text, context and embedding model are equal.

    Raises:
        StoreUnavailable: retry helps.
    """
    copied: dict[UUID, DenseVector] = {}
    donor_builds = (
        IndexBuild.objects.not_retired().filter(index=build.index_id).exclude(pk=build.pk)
    )
    for donor in donor_builds:
        missing = [
            node
            for node in nodes
            if node.point_id not in copied
            and donor.spec.embedding_spec_for(node.kind) == build.spec.embedding_spec_for(node.kind)
        ]
        if missing:
            copied |= _read_vectors_from(donor, missing)
    return copied


def _read_vectors_from(donor: IndexBuild, nodes: Sequence[Node]) -> dict[UUID, DenseVector]:
    expected_nodes = {node.point_id: (node.kind, node.text, node.context) for node in nodes}
    rows = Node.objects.filter(build=donor, point_id__in=expected_nodes, state=Node.State.SYNCED)
    rows_by_kind: dict[str, dict[UUID, str]] = {}
    for row in rows.only("point_id", "kind", "text", "context", "payload_hash"):
        if expected_nodes[row.point_id] == (row.kind, row.text, row.context):
            rows_by_kind.setdefault(row.kind, {})[row.point_id] = row.payload_hash
    copied = {}
    for kind, payload_hashes in rows_by_kind.items():
        points = get_store().retrieve(
            donor.collection(kind), list(payload_hashes), with_vectors=True
        )
        for point_id, point in points.items():
            # Written by someone else since we read its row, it may be of another text.
            if point.dense is not None and hash_payload(point.payload) == payload_hashes[point_id]:
                copied[point_id] = point.dense
    return copied
