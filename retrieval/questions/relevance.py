"""Whether a question concerns an index at all, measured on what the index holds."""

from typing import Final

import regex  # for scripts, which re lacks

from indexing import embedding
from indexing.stores import Payload, Query, encode_query, get_bm25, get_store
from retrieval.questions.english.rules import is_foreign
from retrieval.search.targets import Target

LOOKED_AT: Final = 10  # points that share most words with the question

_LATIN: Final = regex.compile(r"\p{Latin}")


def is_relevant(target: Target, query: str, min_similarity: float) -> bool:
    """Whether some point lies within ``min_similarity`` (a cosine) of the question or, as names
    and abbreviations lie far from everything, holds every word of it that says something.

    A question in another language than English is relevant: how near it lies depends on what
    the embedding model has learnt of that language.

    Raises:
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    if is_foreign(query) or not _LATIN.search(query):
        return True
    dense = embedding.get_embedder(target.spec.embedding).embed_query(query)
    nearest = get_store().search(target.collection, Query(dense=dense, limit=1))
    if not nearest or nearest[0].score >= min_similarity:
        return True
    return _stands_in_one(target, query)


def _stands_in_one(target: Target, query: str) -> bool:
    """Whether one point holds all terms of the query."""
    spec = target.spec.sparse
    sparse = encode_query(spec, query)
    found = get_store().search(target.collection, Query(sparse=sparse, limit=LOOKED_AT))
    encoder = get_bm25(spec)
    terms = set(sparse.indices)
    return any(
        terms <= set(encoder.encode_document(_read_text(point.payload)).indices) for point in found
    )


def _read_text(payload: Payload) -> str:
    """All that a point of any kind says."""
    names = ("artifact_title", "heading", "text", "question", "chunk_text", "summary_text")
    return "\n".join(str(payload[name]) for name in names if payload.get(name))
