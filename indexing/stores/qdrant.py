"""A Qdrant server or cluster; in tests, the client's in-memory mode."""

import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from indexing.exceptions import StoreUnavailable
from indexing.spec import StoreSpec
from indexing.stores.base import (
    DEFAULT_SETTINGS,
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
from indexing.stores.qdrant_batches import (
    cut_batches,
    estimate_bytes,
    estimate_point_bytes,
    make_payload_operations,
)
from indexing.stores.qdrant_collections import (
    describe_lagging_replicas,
    describe_unreachable_peers,
    find_changes,
    make_collection,
    make_search_params,
)
from indexing.stores.qdrant_connections import is_missing_collection, make_transport, to_store_error
from indexing.stores.qdrant_queries import (
    DENSE,
    SPARSE,
    FilterTranslator,
    VectorQuery,
    compute_fetch_limit,
    get_vector_queries,
    paginate_points,
    sort_facet_counts,
    to_offset,
    to_qdrant_rrf_k,
)

if TYPE_CHECKING:
    from llama_index.vector_stores.qdrant import QdrantVectorStore

DEFAULT_TIMEOUT_SECONDS = 30  # default timeout of a request
MAX_PARALLEL_SEARCHES = 16  # concurrent requests of one caller
# Earlier servers ignore the corpus of a search.
FIRST_VERSION_WITH_CORPUS = (1, 19)
ORDERING = models.WriteOrdering.MEDIUM  # through one leader for each shard
DEEP_EF = 4_096  # for pages that end beyond the settings' ``ef``; none ends beyond this one

FILTER_TRANSLATOR = FilterTranslator(
    filter=models.Filter,
    field=models.FieldCondition,
    value=models.MatchValue,
    any_value=models.MatchAny,
    text=models.MatchText,
    number_range=models.Range,
    datetime_range=models.DatetimeRange,
    is_empty=lambda field: models.IsEmptyCondition(is_empty=models.PayloadField(key=field)),
)

FIELD_INDEX_SCHEMAS: dict[str, Any] = {
    "keyword": models.PayloadSchemaType.KEYWORD,
    "uuid": models.PayloadSchemaType.UUID,
    "integer": models.PayloadSchemaType.INTEGER,
    "float": models.PayloadSchemaType.FLOAT,
    "bool": models.PayloadSchemaType.BOOL,
    "datetime": models.PayloadSchemaType.DATETIME,
    # The default tokenizer reads a whole Chinese or Thai sentence as one word.
    "text": models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.MULTILINGUAL, lowercase=True
    ),
}

# Texts -> term ids of each text, and weights of each text.
SparseEncoder = Callable[[list[str]], tuple[list[list[int]], list[list[float]]]]


class QdrantStore(VectorStore):
    """Collections on a Qdrant server, readable by other Qdrant users."""

    def __init__(self, client: QdrantClient, *, is_in_memory: bool = False) -> None:
        self._client = client
        # The in-memory mode uses plain Python lists and is not thread-safe.
        self._is_local = is_in_memory
        self.has_late_writes = not is_in_memory
        self._client_lock: AbstractContextManager[object] = (
            threading.RLock() if self._is_local else nullcontext()
        )

    @classmethod
    def connect(cls, url: str, api_key: str = "", timeout: int = DEFAULT_TIMEOUT_SECONDS) -> Self:
        """A store on the server at ``url``; no request is sent yet."""
        with warnings.catch_warnings():
            # Every command would show this warning; ``doctor`` reports it.
            warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
            client = QdrantClient(
                url=url,
                api_key=api_key or None,
                timeout=timeout,
                check_compatibility=False,
                transport=make_transport(url),
            )
        return cls(client)

    @classmethod
    def in_memory(cls) -> Self:
        """A store in memory, for tests: nothing is persisted and no server is needed."""
        return cls(QdrantClient(":memory:"), is_in_memory=True)

    def open_llama_index(
        self, name: str, text_key: str, encode_queries: SparseEncoder
    ) -> "QdrantVectorStore":
        """A LlamaIndex vector store that reads from an existing collection.

        If the collection has no sparse vectors, it searches only by the dense ones.
        """
        from llama_index.vector_stores.qdrant import QdrantVectorStore

        has_sparse = bool(self._client.get_collection(name).config.params.sparse_vectors)
        return QdrantVectorStore(
            client=self._client,
            collection_name=name,
            dense_vector_name=DENSE,
            sparse_vector_name=SPARSE,
            text_key=text_key,
            enable_hybrid=has_sparse,
            sparse_query_fn=encode_queries,
            sparse_doc_fn=encode_queries,
        )

    def ensure_collection(
        self, name: str, schema: CollectionSchema, settings: StoreSpec = DEFAULT_SETTINGS
    ) -> None:
        if not self.has_collection(name):
            self._create_collection(name, schema, settings)
        if self._is_local:
            return  # the in-memory mode has no payload indexes and would warn
        with self._use_client() as client:
            indexed = client.get_collection(name).payload_schema
            for field, kind in schema.fields.items():
                if field not in indexed:
                    client.create_payload_index(name, field, FIELD_INDEX_SCHEMAS[kind], wait=True)

    def update_collection(
        self, name: str, settings: StoreSpec, *, is_loaded: Callable[[], bool]
    ) -> bool:
        if self._is_local:
            return True
        with self._use_client(name) as client:
            info = client.get_collection(name)
            if info.config.hnsw_config.m == 0 and not is_loaded():
                return False
            if changes := find_changes(info, settings):
                client.update_collection(name, **changes)
                info = client.get_collection(name)
            return info.status == models.CollectionStatus.GREEN
        return True  # it does not exist: nothing was written yet

    def counts_terms_in_corpus(self) -> bool:
        if self._is_local:
            return True
        with self._use_client() as client:
            version = client.info().version  # such as 1.19.0 or 1.19.0-dev
        return tuple(map(int, version.split(".")[:2])) >= FIRST_VERSION_WITH_CORPUS

    def find_lagging_replicas(self, name: str) -> list[str]:
        if self._is_local:
            return []
        with self._use_client(name) as client:
            return describe_lagging_replicas(client.collection_cluster_info(name))
        with self._use_client() as client:  # it was dropped
            return describe_unreachable_peers(client.cluster_status())

    def has_replicas(self) -> bool:
        if self._is_local:
            return False
        with self._use_client() as client:
            status = client.cluster_status()
            return isinstance(status, models.ClusterStatusOneOf1) and len(status.peers) > 1

    def has_collection(self, name: str) -> bool:
        with self._use_client() as client:
            return client.collection_exists(name)

    def drop_collection(self, name: str) -> None:
        with self._use_client() as client:
            client.delete_collection(name)

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        for batch in cut_batches(points, estimate_point_bytes):
            is_written = False
            with self._use_client(name) as client:
                points_to_write = list(map(_to_point_struct, batch))
                client.upsert(name, points_to_write, wait=True, ordering=ORDERING)
                is_written = True
            if not is_written:
                raise LookupError(f"There is no collection {name!r}.")

    def replace_payloads(self, name: str, payloads: Mapping[UUID, Payload]) -> None:
        # A server carries out the operations of a request one by one. Points that change alike,
        # such as the chunks of a renamed document, need one together.
        for batch in cut_batches(list(payloads.items()), lambda item: estimate_bytes(item[1])):
            with self._use_client(name) as client:
                records = client.retrieve(name, [str(point_id) for point_id, _ in batch])
                stored = {UUID(str(record.id)): record.payload or {} for record in records}
                if operations := make_payload_operations(stored, dict(batch)):
                    client.batch_update_points(name, operations, wait=True, ordering=ORDERING)

    def delete(self, name: str, ids: Sequence[UUID]) -> None:
        if not ids:
            return
        selector = models.PointIdsList(points=[str(point_id) for point_id in ids])
        with self._use_client(name) as client:
            client.delete(name, selector, wait=True, ordering=ORDERING)

    def search(self, name: str, query: Query) -> list[ScoredPoint]:
        [found] = self._search_collection(name, [query])
        return found

    def search_many(self, requests: Sequence[tuple[str, Query]]) -> list[list[ScoredPoint]]:
        numbers_by_collection: dict[str, list[int]] = {}
        for number, (name, _) in enumerate(requests):
            numbers_by_collection.setdefault(name, []).append(number)

        def search_collection(name: str) -> list[list[ScoredPoint]]:
            queries = [requests[number][1] for number in numbers_by_collection[name]]
            return self._search_collection(name, queries)

        names = list(numbers_by_collection)
        if self._is_local or len(names) < 2:
            answers = list(map(search_collection, names))
        else:
            # Threads of this call only: they cost 0.1 ms and also work in a forked child.
            with ThreadPoolExecutor(min(len(names), MAX_PARALLEL_SEARCHES)) as threads:
                answers = list(threads.map(search_collection, names))
        found: dict[int, list[ScoredPoint]] = {}
        for name, rankings in zip(names, answers, strict=True):
            found.update(zip(numbers_by_collection[name], rankings, strict=True))
        return [found[number] for number in range(len(requests))]

    def _search_collection(self, name: str, queries: Sequence[Query]) -> list[list[ScoredPoint]]:
        """The points for each query, by one request for all queries."""
        request_by_number = {
            number: _build_query_request(query, vector_queries)
            for number, query in enumerate(queries)
            if (vector_queries := get_vector_queries(query)) and query.limit > 0
        }
        required_ids = {each for query in queries for each in query.required_ids}
        responses: list[models.QueryResponse] = []
        if request_by_number:
            requests = list(request_by_number.values())
            if self._is_local:
                requests = list(map(_drop_graph_params, requests))
            responses = self._query(name, requests, required_ids)
        found: list[list[ScoredPoint]] = [[] for _ in queries]
        for number, response in zip(request_by_number, responses, strict=False):
            points = map(_from_scored_point, response.points)
            found[number] = paginate_points(points, queries[number])
        return found

    def _query(
        self, name: str, requests: Sequence[models.QueryRequest], required_ids: Collection[UUID]
    ) -> list[models.QueryResponse]:
        """The responses; none if the collection does not exist. If the replicas that answered lack
        the collection or a required point, queries again. The same request also asks for these
        points, because one node answers it."""
        if not required_ids:
            return self._send_queries(name, requests)
        ids = [str(point_id) for point_id in required_ids]
        presence = models.QueryRequest(
            filter=models.Filter(must=[models.HasIdCondition(has_id=ids)]),
            limit=len(ids),
            with_payload=False,
        )
        responses = self._send_queries(name, [*requests, presence])
        is_behind = not responses or len(responses[-1].points) < len(ids)
        if is_behind and self.wait_for_replicas():
            return self._send_queries(name, requests)
        return responses[: len(requests)]

    def _send_queries(
        self, name: str, requests: Sequence[models.QueryRequest]
    ) -> list[models.QueryResponse]:
        with self._use_client(name) as client:
            return client.query_batch_points(name, requests)
        return []

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

    def scroll(
        self, name: str, *, after: UUID | None = None, batch: int = 1_000, with_payload: bool = True
    ) -> Iterator[list[StoredPoint]]:
        offset: Any = to_offset(after)
        while True:
            records: list[models.Record] = []
            with self._use_client(name) as client:
                records, offset = client.scroll(
                    name, limit=batch, offset=offset, with_payload=with_payload, with_vectors=False
                )
            if records:
                yield [_from_qdrant_point(record) for record in records]
            if not records or offset is None:
                return

    def count(self, name: str, filter: Filter | None = None) -> int:
        with self._use_client(name) as client:
            return client.count(name, count_filter=_to_qdrant_filter(filter), exact=True).count
        return 0

    def count_roughly(self, name: str) -> int:
        with self._use_client(name) as client:
            return client.get_collection(name).points_count or 0
        return 0

    def facet(
        self, name: str, field: str, *, limit: int, filter: Filter | None = None
    ) -> dict[str, int]:
        hits: list[models.FacetValueHit] = []
        if limit > 0:
            with self._use_client(name) as client:
                qdrant_filter = _to_qdrant_filter(filter)
                hits = client.facet(
                    name, field, facet_filter=qdrant_filter, limit=limit, exact=True
                ).hits
        return sort_facet_counts((str(hit.value), hit.count) for hit in hits)

    def switch_aliases(self, aliases: Mapping[str, str | None]) -> None:
        existing = self.aliases()
        operations: list[models.AliasOperations] = []
        for alias, collection in aliases.items():
            if alias in existing:
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

    def _create_collection(self, name: str, schema: CollectionSchema, settings: StoreSpec) -> None:
        arguments = make_collection(schema, settings, is_cluster=self.has_replicas())
        with self._use_client() as client:
            try:
                client.create_collection(name, **arguments)
            except UnexpectedResponse as error:
                if error.status_code != HTTPStatus.CONFLICT:  # another process was faster
                    raise

    @contextmanager
    def _use_client(self, name: str | None = None) -> Iterator[QdrantClient]:
        """Yield the client; its errors become those of ``to_store_error``.

        If a collection's ``name`` is given and it does not exist, the block ends without an error.
        """
        try:
            with self._client_lock:
                yield self._client
        except (ResponseHandlingException, UnexpectedResponse, QdrantException) as error:
            if name is None or not is_missing_collection(error, name):
                raise to_store_error(error) from error
        except ValueError as error:
            if name is None or not is_missing_collection(error, name):
                raise
        except RuntimeError as error:
            if "closed" not in str(error):
                raise
            raise StoreUnavailable("The connection to the vector store is closed.") from error


def _to_point_struct(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = np.asarray(point.dense).tolist()
    if point.sparse is not None and point.sparse.indices:
        vectors[SPARSE] = _to_qdrant_sparse(point.sparse)
    return models.PointStruct(id=str(point.id), vector=vectors, payload=point.payload)


def _to_qdrant_sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=vector.indices, values=vector.values)


def _read_payload(record: models.Record | models.ScoredPoint) -> Payload:
    return dict(record.payload or {})


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


def _from_scored_point(hit: models.ScoredPoint) -> ScoredPoint:
    sparse = hit.vector.get(SPARSE) if isinstance(hit.vector, dict) else None
    terms = sparse.indices if isinstance(sparse, models.SparseVector) else ()
    return ScoredPoint(UUID(str(hit.id)), hit.score, _read_payload(hit), terms)


def _to_qdrant_filter(filter: Filter | None) -> models.Filter | None:
    return None if filter is None else FILTER_TRANSLATOR.translate(filter)


def _build_query_request(
    query: Query, vector_queries: Sequence[VectorQuery]
) -> models.QueryRequest:
    filter, fusion = _to_qdrant_filter(query.filter), query.fusion
    corpus = _to_qdrant_filter(query.corpus)
    limit, with_payload = compute_fetch_limit(query), query.with_payload

    def make_params(ranking: VectorQuery, *, ef: int) -> models.SearchParams:
        # The engine refuses a corpus where it counts no terms.
        counted = corpus if ranking.has_idf else None
        return make_search_params(ef=ef, is_exact=query.is_exact, corpus=counted)

    if fusion is None:
        [ranking] = vector_queries
        ef = query.ef if limit <= query.ef else max(limit, DEEP_EF)
        return models.QueryRequest(
            query=_to_query_vector(ranking),
            using=ranking.using,
            filter=filter,
            params=make_params(ranking, ef=ef),
            limit=limit,
            with_payload=with_payload,
            with_vector=[SPARSE] if query.with_terms else None,
        )
    candidates = [
        models.Prefetch(
            query=_to_query_vector(ranking),
            using=ranking.using,
            filter=filter,
            params=make_params(ranking, ef=query.ef),
            limit=fusion.prefetch,
        )
        for ranking in vector_queries
    ]
    rrf = models.RrfQuery(rrf=models.Rrf(k=to_qdrant_rrf_k(fusion.k)))
    return models.QueryRequest(
        prefetch=candidates, query=rrf, limit=limit, with_payload=with_payload
    )


def _drop_graph_params(request: models.QueryRequest) -> models.QueryRequest:
    """For the in-memory mode, which has no graph and would warn."""
    params = request.params and models.SearchParams(idf=request.params.idf)
    return request.model_copy(update={"params": params})


def _to_query_vector(vector_query: VectorQuery) -> Any:
    vector = vector_query.vector
    if isinstance(vector, SparseVector):
        return _to_qdrant_sparse(vector)
    return np.asarray(vector).tolist()
