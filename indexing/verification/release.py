"""Checks on a sample that the running code indexes texts as the code that indexed them did.

Another tokenizer, model runtime or way of cutting chunks would put points of two kinds beside each
other, and searches would rank them together without an error.
"""

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import numpy as np

from documents.models import Artifact, load_sources
from indexing import embedding
from indexing.drafting import get_drafters, hash_payload
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.services import draft_points
from indexing.sparse_vectors import encode_sparse_query
from indexing.stores import get_store
from indexing.stores.base import Point, Query, StoredPoint
from indexing.verification.documents import rows_match_drafts

DOCUMENTS = 10
NODES = 30
# Between a stored vector and the same one computed now, as a share of its length: a cosine of
# 0.995. Processors differ by 0.001.
MAX_DISTANCE = 0.1
# A node's text must be among this many hits for its own first words; of the sampled nodes at least
# this share, because texts may be alike.
HITS = 3
MIN_FOUND_SHARE = 0.25
QUERY_CHARS = 200


def find_release_differences(build: IndexBuild) -> list[str]:
    """Describe how the running code would index and search documents of this build differently;
    nothing if all sampled ones agree with how they are indexed.

    Raises:
        EmbeddingUnavailable, ModelUnavailable, StoreUnavailable: it could not be checked.
    """
    artifacts = list(_sample_artifacts(build))
    load_sources(artifacts, build.reading)
    kinds = list(get_drafters(build))
    differing = sum(not rows_match_drafts(build, artifact, kinds) for artifact in artifacts)
    nodes = list(_sample_nodes(build, artifacts))
    return [
        *_count(differing, artifacts, "documents would be cut or described differently"),
        *_compare_points(build, nodes),
        *_compare_searches(build, [node for node in nodes if node.kind == "chunk"]),
    ]


def _sample_artifacts(build: IndexBuild) -> Iterator[Artifact]:
    """Documents whose rows should equal what would be drafted now."""
    documents = IndexedDocument.objects.filter(
        build=build, state=IndexedDocument.State.READY, unwritten_kinds=[]
    )
    for document in documents.select_related("artifact").order_by("artifact_id")[:DOCUMENTS]:
        artifact = document.artifact
        if artifact.state == Artifact.State.PARSED and artifact.revision == document.revision:
            yield artifact


def _sample_nodes(build: IndexBuild, artifacts: Sequence[Artifact]) -> Iterator[Node]:
    nodes = Node.objects.filter(build=build, artifact__in=artifacts, state=Node.State.SYNCED)
    in_any_order = nodes.select_related("artifact", "page", "source").order_by("point_id")
    for node in in_any_order[:NODES]:
        node.build = build
        yield node


def _compare_points(build: IndexBuild, nodes: Sequence[Node]) -> Iterator[str]:
    """Compare the stored points of these nodes with what would be written now."""
    store = get_store()
    stored: dict[UUID, StoredPoint] = {}
    for kind in {node.kind for node in nodes}:
        ids = [node.point_id for node in nodes if node.kind == kind]
        stored |= store.retrieve(build.collection(kind), ids, with_vectors=True)
    pairs = [
        (point, stored[point.id]) for point in draft_points(build, nodes) if point.id in stored
    ]
    for what, is_equal in (
        ("payloads", _has_equal_payload),
        ("keywords", _has_equal_keywords),
        ("vectors", _has_close_vector),
    ):
        differing = sum(not is_equal(new, old) for new, old in pairs)
        yield from _count(differing, pairs, f"texts would get other {what}")


def _has_equal_payload(new: Point, old: StoredPoint) -> bool:
    return hash_payload(new.payload) == hash_payload(old.payload)


def _has_equal_keywords(new: Point, old: StoredPoint) -> bool:
    if new.sparse is None or old.sparse is None:
        return not (new.sparse and new.sparse.indices) and not (old.sparse and old.sparse.indices)
    new_weights, old_weights = (
        dict(zip(each.indices, each.values, strict=True)) for each in (new.sparse, old.sparse)
    )
    return new_weights.keys() == old_weights.keys() and all(
        np.isclose(weight, old_weights[term], rtol=1e-3) for term, weight in new_weights.items()
    )


def _has_close_vector(new: Point, old: StoredPoint) -> bool:
    if new.dense is None or old.dense is None:
        return new.dense is old.dense
    distance = np.linalg.norm(new.dense - old.dense) / np.linalg.norm(old.dense)
    return bool(distance <= MAX_DISTANCE)


def _compare_searches(build: IndexBuild, nodes: Sequence[Node]) -> Iterator[str]:
    """Search each node by its own first words, which the code that makes queries must find."""
    embedder = embedding.get_embedder(build.spec.embedding_spec_for("chunk"))
    searches: dict[str, Callable[[str], Query]] = {
        "meaning": lambda text: Query(dense=embedder.embed_query(text), limit=HITS),
        "words": lambda text: Query(
            sparse=encode_sparse_query(build.spec.sparse, text), limit=HITS
        ),
    }
    for what, make_query in searches.items():
        found = 0
        for node in nodes:
            query = make_query(node.text[:QUERY_CHARS])
            hits = get_store().search(build.collection("chunk"), query)
            found += node.text in {hit.payload.get("text") for hit in hits}
        if found < MIN_FOUND_SHARE * len(nodes):
            yield f"only {found} of {len(nodes)} sampled texts are found again by their {what}"


def _count(differing: int, all_of_them: Sequence[object], what: str) -> list[str]:
    return [f"{differing} of {len(all_of_them)} sampled {what}"] if differing else []
