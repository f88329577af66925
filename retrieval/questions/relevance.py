"""Decide whether a question is relevant to an index, from its nearest and best matches."""

from typing import Final

from indexing.stores import Payload, Query, encode_sparse_query, get_bm25_encoder
from retrieval.search.query_vectors import embed_query_if_available
from retrieval.search.targets import Target
from retrieval.visible_points import VisiblePoints

MAX_POINTS_CHECKED: Final = 10  # the points that share most words with the question


def is_relevant(target: Target, query: str, min_similarity: float) -> bool | None:
    """Whether some point has at least ``min_similarity`` (a cosine) to the question, or contains
    all of its content words (embeddings place names and abbreviations badly). The embedding model
    must read the question's language. None if the model's endpoint fails.

    Raises:
        StoreUnavailable: retry helps.
    """
    dense, _ = embed_query_if_available(target.spec.embedding, query)
    if dense is None:
        return None
    points = VisiblePoints(target.grant)
    nearest = points.search(target.collection, Query(dense=dense, limit=1))
    if not nearest or nearest[0].score >= min_similarity:
        return True
    return _has_point_with_all_terms(target, query)


def _has_point_with_all_terms(target: Target, query: str) -> bool:
    spec = target.spec.sparse
    sparse = encode_sparse_query(spec, query)
    points = VisiblePoints(target.grant)
    found = points.search(target.collection, Query(sparse=sparse, limit=MAX_POINTS_CHECKED))
    encoder = get_bm25_encoder(spec)
    terms = set(sparse.indices)
    return any(
        terms <= set(encoder.encode_document(_join_text_fields(point.payload)).indices)
        for point in found
    )


def _join_text_fields(payload: Payload) -> str:
    """All text fields of a payload of any kind, one per line."""
    names = ("artifact_title", "heading", "text", "question", "chunk_text", "summary_text")
    return "\n".join(str(payload[name]) for name in names if payload.get(name))
