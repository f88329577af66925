"""The interface of a vector store, and the types it takes and returns.

No Qdrant type is part of it. Every store passes ``tests/contracts/test_stores.py``.
"""

import abc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from indexing.spec import Datatype, StoreSpec

Payload = dict[str, Any]
DEFAULT_SETTINGS = StoreSpec()
# A node that had just come back showed an older state for one to two seconds.
CATCH_UP_SECONDS = 3.0
DenseVector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights by term id; ``indices`` are unique. ``has_idf``: as that of the collection."""

    indices: list[int]
    values: list[float]
    has_idf: bool = True


@dataclass(frozen=True, slots=True)
class Point:
    id: UUID
    dense: DenseVector | None
    sparse: SparseVector | None
    payload: Payload


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point as read from the store; the vectors only if they were requested."""

    id: UUID
    payload: Payload
    dense: DenseVector | None = None
    sparse: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    id: UUID
    score: float
    payload: Payload
    terms: Sequence[int] = ()  # of its sparse vector, if they were requested


@dataclass(frozen=True, slots=True)
class CollectionSchema:
    """What a collection must offer. ``fields``: payload field -> declared type, or ``uuid`` for the
    ids of other rows; each is indexed. ``has_idf``: whether searches multiply the weights of terms
    by their inverse document frequencies. ``datatype``: of the numbers of dense vectors, which a
    collection keeps."""

    dimension: int
    fields: Mapping[str, str]
    has_sparse: bool = True
    has_idf: bool = True
    datatype: Datatype = "float32"


# A filter is a tree of these. A condition on a field with many values holds if any value matches.


@dataclass(frozen=True, slots=True)
class Match:
    """The field equals one of ``values``; without values, nothing matches.

    Types are distinct: ``1`` matches neither ``True`` nor ``1.0``. A float field needs floats.
    """

    field: str
    values: Sequence[str | int | float | bool]


@dataclass(frozen=True, slots=True)
class MatchText:
    """The ``text`` field contains every word of ``text``, in any order or case."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Range:
    """The field lies within the bounds given; datetimes as RFC 3339 strings."""

    field: str
    gte: float | str | None = None
    gt: float | str | None = None
    lte: float | str | None = None
    lt: float | str | None = None


@dataclass(frozen=True, slots=True)
class Empty:
    """The field is absent, null or an empty list."""

    field: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every filter holds; with none, everything matches."""

    filters: Sequence["Filter"]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one filter holds; with none, nothing matches."""

    filters: Sequence["Filter"]


@dataclass(frozen=True, slots=True)
class Not:
    filter: "Filter"


Filter = Match | MatchText | Range | Empty | AllOf | AnyOf | Not


@dataclass(frozen=True, slots=True)
class RankFusion:
    """Reciprocal rank fusion by the engine: a point scores ``sum(1 / (k + rank))``, rank from 1."""

    k: int = 60
    prefetch: int = 100  # candidates from each vector


@dataclass(frozen=True, slots=True)
class Query:
    """One search: hybrid with a ``fusion``, otherwise by the one vector that is given.

    A sparse vector without terms counts as none: a hybrid search then fuses only the dense ranking,
    so that its scores stay reciprocal ranks, and a sparse search finds nothing. The filter holds
    for the candidates of both vectors; ``min_score`` is for the final score. Without
    ``with_payload`` the points have empty payloads. ``with_terms`` is for a search without fusion.

    ``corpus``: the points in which terms are counted for their weights. Without it these are all
    points, and on a server for a while also deleted ones.

    ``ef``: how many candidates of the graph are examined, where there is one. Equal for all pages
    of a search, so that they are cut from one ranking. ``is_exact``: without the graph, and without
    quantization. ``required_ids``: points that were written; a replica that lacks one of them has
    not caught up yet, and the search is sent again.
    """

    dense: DenseVector | None = None
    sparse: SparseVector | None = None
    fusion: RankFusion | None = None
    filter: Filter | None = None
    corpus: Filter | None = None
    limit: int = 10
    offset: int = 0
    min_score: float | None = None
    with_payload: bool | list[str] = True  # or its fields
    with_terms: bool = False
    ef: int = DEFAULT_SETTINGS.hnsw.ef
    is_exact: bool = False
    required_ids: Sequence[UUID] = ()


class VectorStore(abc.ABC):
    """Collections of points. Thread-safe.

    Every method raises ``StoreUnavailable`` if the store cannot be reached or fails temporarily
    (retry helps), ``StoreOutcomeUnknown`` if a write may have been applied or may still be, and
    ``DiskFull`` before a write that would fill the disk. Reading a collection that does not exist
    finds nothing.

    ``has_late_writes``: whether the store, such as a server, may apply a write after its caller has
    stopped waiting.
    """

    has_late_writes: bool = False

    @abc.abstractmethod
    def ensure_collection(
        self, name: str, schema: CollectionSchema, settings: StoreSpec = DEFAULT_SETTINGS
    ) -> None:
        """Create the collection and its payload indexes if they are missing."""

    def update_collection(
        self, name: str, settings: StoreSpec, *, is_loaded: Callable[[], bool]
    ) -> bool:
        """Make the collection follow the settings, except shards and replicas; return whether the
        store has nothing left to do for it.

        A server makes collections without an HNSW graph; such a collection is not changed before
        ``is_loaded`` returns True.
        """
        return True

    @abc.abstractmethod
    def has_collection(self, name: str) -> bool: ...

    def counts_terms_in_corpus(self) -> bool:
        """Whether ``Query.corpus`` has an effect; if not, terms are counted in all points."""
        return True

    @abc.abstractmethod
    def drop_collection(self, name: str) -> None:
        """Remove the collection and all its points; no error if it does not exist."""

    @abc.abstractmethod
    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Write points, replacing those with the same id completely; durable and visible on return.
        Raises ``LookupError``: there is no such collection."""

    @abc.abstractmethod
    def replace_payloads(self, name: str, payloads: Mapping[UUID, Payload]) -> None:
        """Replace the payloads of existing points completely and keep their vectors; ids without a
        point are ignored."""

    @abc.abstractmethod
    def delete(self, name: str, ids: Sequence[UUID]) -> None:
        """Remove points; durable and visible on return. Ids without a point are ignored."""

    @abc.abstractmethod
    def search(self, name: str, query: Query) -> list[ScoredPoint]:
        """The best points, best first, ties by id. One request to the store, hybrid or not. A
        collection that does not exist gives an empty list."""

    @abc.abstractmethod
    def search_many(self, requests: Sequence[tuple[str, Query]]) -> list[list[ScoredPoint]]:
        """The results of ``search`` for each collection and query, in order. A server gets one
        request for each collection, all at the same time."""

    @abc.abstractmethod
    def retrieve(
        self, name: str, ids: Sequence[UUID], *, with_vectors: bool = False
    ) -> dict[UUID, StoredPoint]:
        """Return the existing points among these ids."""

    @abc.abstractmethod
    def scroll(
        self, name: str, *, after: UUID | None = None, batch: int = 1_000, with_payload: bool = True
    ) -> Iterator[list[StoredPoint]]:
        """Every point once, or those with a greater id than ``after``, in ascending order of id,
        without vectors, in bounded memory: each batch is one request. Without ``with_payload`` the
        points have empty payloads."""

    @abc.abstractmethod
    def count(self, name: str, filter: Filter | None = None) -> int:
        """Exactly how many points match."""

    @abc.abstractmethod
    def count_roughly(self, name: str) -> int:
        """About how many points there are, at a cost that does not grow with their number. A server
        may count a point twice while it optimizes the collection."""

    @abc.abstractmethod
    def facet(
        self, name: str, field: str, *, limit: int, filter: Filter | None = None
    ) -> dict[str, int]:
        """The values of a ``keyword``, ``uuid``, ``integer`` or ``bool`` field, as strings, each
        with its number of matching points.

        The most frequent values come first, ties by value; at most ``limit`` of them. Which values
        are kept among those that tie at the limit depends on the store.
        """

    @abc.abstractmethod
    def switch_aliases(self, aliases: Mapping[str, str | None]) -> None:
        """Point each alias at a collection that exists, or (None) remove it; all at once.

        Aliases are for other readers of the store: no method here accepts an alias as a name.
        """

    @abc.abstractmethod
    def aliases(self) -> dict[str, str]:
        """Every alias of the store, with the collection it points at."""

    def find_lagging_replicas(self, name: str) -> list[str]:
        """Describe the replicas and transfers that may still hold points that were removed."""
        return []

    def has_replicas(self) -> bool:
        """Whether several nodes hold the points, so that a read may show an older state."""
        return False

    def wait_for_replicas(self) -> bool:
        """Wait until a replica that has just come back is up to date; return whether there are
        replicas. If so, the caller must read again what disagreed with the ledger."""
        if not self.has_replicas():
            return False
        time.sleep(CATCH_UP_SECONDS)
        return True

    def erase_deleted(self, deleted_before: datetime) -> list[str]:
        """Erase from the disk what was deleted until then; return the collections that were
        rewritten. A server does so by itself."""
        return []

    @abc.abstractmethod
    def ping(self) -> None:
        """Return if the store can serve; else raise ``StoreUnavailable``."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close files and connections; the store cannot be used afterwards."""
