"""A Qdrant server or cluster; in tests, the client's in-memory mode."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Self
from uuid import UUID

import httpx
import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from qdrant_client.local.qdrant_local import QdrantLocal

from indexing.exceptions import StoreOutcomeUnknown, StoreUnavailable
from indexing.stores.base import (
    CollectionSchema,
    Filter,
    Payload,
    Point,
    Query,
    ScoredPoint,
    SparseVector,
    StoredPoint,
    VectorStore,
)
from indexing.stores.qdrant_queries import (
    DENSE,
    SPARSE,
    UPSERT_BATCH,
    FilterTranslator,
    VectorQuery,
    compute_fetch_limit,
    get_vector_queries,
    has_unit_weights,
    paginate_points,
    sort_facet_counts,
    to_qdrant_rrf_k,
)

DEFAULT_TIMEOUT_SECONDS = 30  # seconds a request may take, unless told otherwise
MAX_PARALLEL_SEARCHES = 16  # under way at once on behalf of one caller
UNSENT_ERRORS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

FILTER_TRANSLATOR = FilterTranslator(
    filter=models.Filter,
    field=models.FieldCondition,
    value=models.MatchValue,
    any_value=models.MatchAny,
    text=models.MatchText,
    number_range=models.Range,
    datetime_range=models.DatetimeRange,
)

FIELD_INDEX_SCHEMAS: dict[str, Any] = {
    "keyword": models.PayloadSchemaType.KEYWORD,
    "integer": models.PayloadSchemaType.INTEGER,
    "float": models.PayloadSchemaType.FLOAT,
    "bool": models.PayloadSchemaType.BOOL,
    "datetime": models.PayloadSchemaType.DATETIME,
    # The default tokenizer takes a whole Chinese or Thai sentence for one word.
    "text": models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.MULTILINGUAL, lowercase=True
    ),
}


class QdrantStore(VectorStore):
    """Collections on a Qdrant server, readable by other Qdrant users.

    A payload's ``text`` is also written as ``content``, the key that Haystack reads and cannot
    be told to change; it is taken off again on the way back.

    With weights other than 1, a collection of several shards counts ranks within each shard:
    the server fuses over all shards only where the fusion is its own.
    """

    def __init__(self, client: QdrantClient) -> None:
        self._client = client
        # The in-memory mode is plain Python lists and not safe to share.
        self._is_local = isinstance(client._client, QdrantLocal)
        self.has_late_writes = not self._is_local
        self._client_lock: AbstractContextManager[object] = (
            threading.RLock() if self._is_local else nullcontext()
        )

    @classmethod
    def connect(cls, url: str, api_key: str = "", timeout: int = DEFAULT_TIMEOUT_SECONDS) -> Self:
        """A store on the server at ``url``; no request is sent yet."""
        return cls(
            QdrantClient(
                url=url, api_key=api_key or None, timeout=timeout, check_compatibility=False
            )
        )

    @classmethod
    def in_memory(cls) -> Self:
        """A store in memory, for tests: nothing is persisted and no server is needed."""
        return cls(QdrantClient(":memory:"))

    def ensure_collection(self, name: str, schema: CollectionSchema) -> None:
        if not self.has_collection(name):
            try:
                self._create_collection(name, schema)
            except UnexpectedResponse as error:
                if error.status_code != 409:  # another process was faster
                    raise
        if self._is_local:
            return  # it has no payload indexes and would warn
        with self._use_client() as client:
            indexed = client.get_collection(name).payload_schema
            for field, kind in schema.fields.items():
                if field not in indexed:
                    client.create_payload_index(name, field, FIELD_INDEX_SCHEMAS[kind], wait=True)

    def has_collection(self, name: str) -> bool:
        with self._use_client() as client:
            return client.collection_exists(name)

    def drop_collection(self, name: str) -> None:
        with self._use_client() as client:
            client.delete_collection(name)

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        try:
            for start in range(0, len(points), UPSERT_BATCH):
                written = [
                    _to_point_struct(point) for point in points[start : start + UPSERT_BATCH]
                ]
                with self._use_client() as client:
                    client.upsert(name, written, wait=True)
        except (UnexpectedResponse, ValueError) as error:
            if not _is_missing_collection(error):
                raise
            raise LookupError(f"There is no collection {name!r}.") from None

    def replace_payloads(self, name: str, payloads: Mapping[UUID, Payload]) -> None:
        operations = [
            models.OverwritePayloadOperation(
                overwrite_payload=models.SetPayload(
                    payload=_add_content_key(payload),
                    # Named by filter, a point that is missing is left out; by id, it is an error.
                    filter=models.Filter(must=[models.HasIdCondition(has_id=[str(point_id)])]),
                )
            )
            for point_id, payload in payloads.items()
        ]
        for start in range(0, len(operations), UPSERT_BATCH):
            batch = operations[start : start + UPSERT_BATCH]
            with self._use_client(name) as client:
                client.batch_update_points(name, batch, wait=True)

    def delete(self, name: str, ids: Sequence[UUID]) -> None:
        if not ids:
            return
        selector = models.PointIdsList(points=[str(point_id) for point_id in ids])
        with self._use_client(name) as client:
            client.delete(name, selector, wait=True)

    def search(self, name: str, query: Query) -> list[ScoredPoint]:
        vector_queries = get_vector_queries(query)
        if not vector_queries or query.limit < 1:
            return []
        request = _build_query_arguments(query, vector_queries)
        found: list[models.ScoredPoint] = []
        with self._use_client(name) as client:
            found = client.query_points(
                name, **request, limit=compute_fetch_limit(query), with_payload=True
            ).points
        return paginate_points(
            (ScoredPoint(UUID(str(hit.id)), hit.score, _read_payload(hit)) for hit in found), query
        )

    def search_many(self, requests: Sequence[tuple[str, Query]]) -> list[list[ScoredPoint]]:
        if self._is_local or len(requests) < 2:
            return [self.search(name, query) for name, query in requests]
        # Threads of this call's own: a tenth of a millisecond, and a forked child has them too.
        with ThreadPoolExecutor(min(len(requests), MAX_PARALLEL_SEARCHES)) as threads:
            return list(threads.map(lambda request: self.search(*request), requests))

    def retrieve(
        self, name: str, ids: Sequence[UUID], *, with_vectors: bool = False
    ) -> dict[UUID, StoredPoint]:
        records: list[models.Record] = []
        if ids:
            with self._use_client(name) as client:
                records = client.retrieve(
                    name,
                    [str(point_id) for point_id in ids],
                    with_payload=True,
                    with_vectors=with_vectors,
                )
        return {UUID(str(record.id)): _from_qdrant_point(record) for record in records}

    def scroll(self, name: str, *, batch: int = 1_000) -> Iterator[list[StoredPoint]]:
        offset: Any = None
        while True:
            records: list[models.Record] = []
            with self._use_client(name) as client:
                records, offset = client.scroll(
                    name, limit=batch, offset=offset, with_payload=True, with_vectors=False
                )
            if records:
                yield [_from_qdrant_point(record) for record in records]
            if not records or offset is None:
                return

    def count(self, name: str, filter: Filter | None = None) -> int:
        with self._use_client(name) as client:
            return client.count(name, count_filter=_to_qdrant_filter(filter), exact=True).count
        return 0

    def facet(self, name: str, field: str, *, limit: int) -> dict[str, int]:
        hits: list[models.FacetValueHit] = []
        if limit > 0:
            with self._use_client(name) as client:
                hits = client.facet(name, field, limit=limit, exact=True).hits
        return sort_facet_counts((str(hit.value), hit.count) for hit in hits)

    def switch_aliases(self, aliases: Mapping[str, str | None]) -> None:
        known = self.aliases()
        operations: list[models.AliasOperations] = []
        for alias, collection in aliases.items():
            if alias in known:
                removed = models.DeleteAlias(alias_name=alias)
                operations.append(models.DeleteAliasOperation(delete_alias=removed))
            if collection is not None:
                made = models.CreateAlias(alias_name=alias, collection_name=collection)
                operations.append(models.CreateAliasOperation(create_alias=made))
        if operations:
            with self._use_client() as client:
                client.update_collection_aliases(operations)

    def aliases(self) -> dict[str, str]:
        with self._use_client() as client:
            found = client.get_aliases().aliases
        return {each.alias_name: each.collection_name for each in found}

    def ping(self) -> None:
        with self._use_client() as client:
            client.get_collections()

    def close(self) -> None:
        self._client.close()

    def _create_collection(self, name: str, schema: CollectionSchema) -> None:
        sparse = {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)}
        with self._use_client() as client:
            client.create_collection(
                name,
                vectors_config={
                    DENSE: models.VectorParams(
                        size=schema.dimension, distance=models.Distance.COSINE
                    )
                },
                sparse_vectors_config=sparse if schema.has_sparse else None,
            )

    @contextmanager
    def _use_client(self, name: str | None = None) -> Iterator[QdrantClient]:
        """Yield the client; connection and server errors become ``StoreUnavailable``, or
        ``StoreOutcomeUnknown`` if the request was sent.

        If a collection's ``name`` is given and it does not exist, the block ends without an error.
        """
        try:
            with self._client_lock:
                yield self._client
        except ResponseHandlingException as error:
            is_unsent = isinstance(error.source, UNSENT_ERRORS)
            unavailable = StoreUnavailable if is_unsent else StoreOutcomeUnknown
            raise unavailable(f"The vector store did not answer: {error}") from error
        except QdrantException as error:
            raise StoreUnavailable(f"The vector store did not answer: {error}") from error
        except UnexpectedResponse as error:
            if name is not None and _is_missing_collection(error):
                return
            if error.status_code is not None and error.status_code < 500:
                raise
            # A proxy answers so for a server that goes on.
            raise StoreOutcomeUnknown(f"The vector store failed: {error}") from error
        except ValueError as error:
            if name is None or not _is_missing_collection(error):
                raise
        except RuntimeError as error:
            if "closed" not in str(error):
                raise
            raise StoreUnavailable("The connection to the vector store is closed.") from error


def _is_missing_collection(error: Exception) -> bool:
    """Whether a collection is missing: a 404 of the server, a sentence of the in-memory mode."""
    if isinstance(error, UnexpectedResponse):
        return error.status_code == 404
    return str(error).startswith("Collection ") and str(error).endswith(" not found")


def _to_point_struct(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = np.asarray(point.dense).tolist()
    if point.sparse is not None and point.sparse.indices:
        vectors[SPARSE] = _to_qdrant_sparse(point.sparse)
    return models.PointStruct(
        id=str(point.id), vector=vectors, payload=_add_content_key(point.payload)
    )


def _to_qdrant_sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=vector.indices, values=vector.values)


def _add_content_key(payload: Payload) -> Payload:
    return {**payload, "content": payload["text"]} if "text" in payload else payload


def _read_payload(record: models.Record | models.ScoredPoint) -> Payload:
    payload = dict(record.payload or {})
    if "text" in payload:
        payload.pop("content", None)
    return payload


def _from_qdrant_point(record: models.Record) -> StoredPoint:
    vectors = record.vector if isinstance(record.vector, dict) else {}
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    return StoredPoint(
        id=UUID(str(record.id)),
        payload=_read_payload(record),
        dense=None if dense is None else np.asarray(dense, dtype=np.float32),
        sparse=SparseVector(list(sparse.indices), list(sparse.values))
        if isinstance(sparse, models.SparseVector)
        else None,
    )


def _to_qdrant_filter(filter: Filter | None) -> models.Filter | None:
    return None if filter is None else FILTER_TRANSLATOR.translate(filter)


def _build_query_arguments(query: Query, vector_queries: Sequence[VectorQuery]) -> dict[str, Any]:
    """The arguments of ``query_points`` that depend on the query."""
    filter, fusion = _to_qdrant_filter(query.filter), query.fusion
    if fusion is None:
        [ranking] = vector_queries
        return {
            "query": _to_query_vector(ranking),
            "using": ranking.using,
            "query_filter": filter,
        }
    candidates = [
        models.Prefetch(
            query=_to_query_vector(ranking),
            using=ranking.using,
            filter=filter,
            limit=fusion.prefetch,
        )
        for ranking in vector_queries
    ]
    rrf = models.RrfQuery(rrf=models.Rrf(k=to_qdrant_rrf_k(fusion.k)))
    if has_unit_weights(vector_queries):
        return {"prefetch": candidates, "query": rrf}
    reciprocal_ranks = [
        models.Prefetch(prefetch=[candidate], query=rrf, limit=fusion.prefetch)
        for candidate in candidates
    ]
    scores = [f"$score[{number}]" for number in range(len(vector_queries))]
    shares = [
        models.MultExpression(mult=[float(ranking.weight), score])
        for ranking, score in zip(vector_queries, scores, strict=True)
    ]
    formula = models.FormulaQuery(
        formula=models.SumExpression(sum=list(shares)), defaults=dict.fromkeys(scores, 0.0)
    )
    return {"prefetch": reciprocal_ranks, "query": formula}


def _to_query_vector(vector_query: VectorQuery) -> Any:
    vector = vector_query.vector
    if isinstance(vector, SparseVector):
        return _to_qdrant_sparse(vector)
    return np.asarray(vector).tolist()
