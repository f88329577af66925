"""The vector store: one interface, two implementations, and the BM25 encoder that both share.

Nothing here imports an engine before it is used.
"""

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connections

from indexing.stores.base import (
    AllOf,
    AnyOf,
    CollectionSchema,
    DenseVector,
    Empty,
    Filter,
    Match,
    MatchText,
    Not,
    Payload,
    Point,
    Query,
    Range,
    RankFusion,
    ScoredPoint,
    SparseVector,
    StoredPoint,
    VectorStore,
)

if TYPE_CHECKING:
    from indexing.spec import SparseSpec
    from indexing.stores.sparse import Bm25Encoder

_store_lock = threading.Lock()
_store: VectorStore | None = None


def get_store() -> VectorStore:
    """Return this process's store; the first call creates it, by ``STRATA_VECTOR_STORE``. Raises
    ``StoreLocked``: the embedded store's folder belongs to another process."""
    global _store
    with _store_lock:
        if _store is None:
            _store = _make_store(settings.STRATA_VECTOR_STORE)
        return _store


def close_store() -> None:
    """Close this process's store, if there is one; the next ``get_store`` creates a new one."""
    global _store
    with _store_lock:
        if _store is not None:
            _store.close()
            _store = None


# Flush and close collections when the process ends.
atexit.register(close_store)


@contextmanager
def exclusive_store_access() -> Iterator[None]:
    """Open the embedded vector engine of this data folder; one process at a time can own it. Raises
    ``StoreLocked``: another process owns it."""
    get_store()
    try:
        yield
    finally:
        close_store()
        connections.close_all()


def get_bm25_encoder(spec: "SparseSpec") -> "Bm25Encoder":
    """Return the BM25 encoder for a spec, created once per process."""
    from indexing.stores import sparse

    return sparse.get_bm25_encoder(spec)


def _make_store(kind: str) -> VectorStore:
    if kind == "embedded":
        from indexing.stores.embedded import EmbeddedStore

        return EmbeddedStore(settings.STRATA_VECTORS_DIR, settings.STRATA_MIN_FREE_BYTES)
    from indexing.stores.qdrant import QdrantStore

    if kind == "qdrant":
        # Only the production settings define these.
        return QdrantStore.connect(
            settings.QDRANT_URL,  # type: ignore[misc]
            settings.QDRANT_API_KEY,  # type: ignore[misc]
            settings.QDRANT_TIMEOUT_SECONDS,  # type: ignore[misc]
        )
    if kind == "memory":
        return QdrantStore.in_memory()
    raise ValueError(f"STRATA_VECTOR_STORE must be embedded, qdrant or memory, not {kind!r}.")
