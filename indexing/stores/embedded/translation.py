"""Convert between Strata's types and those of ``qdrant_edge``."""

import os
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import qdrant_edge as edge

from indexing.stores.base import (
    CollectionSchema,
    Filter,
    Point,
    Query,
    ScoredPoint,
    SparseVector,
    StoredPoint,
)
from indexing.stores.qdrant_queries import (
    DENSE,
    SPARSE,
    FilterTranslator,
    VectorQuery,
    compute_fetch_limit,
    to_qdrant_rrf_k,
)

FILTER_TRANSLATOR = FilterTranslator(
    filter=edge.Filter,
    field=edge.FieldCondition,
    value=edge.MatchValue,
    any_value=edge.MatchAny,
    text=edge.MatchText,
    number_range=edge.RangeFloat,
    datetime_range=edge.RangeDateTime,
    is_empty=edge.IsEmptyCondition,
    bool_value=np.bool_,  # the engine reads Python's bool as 0 and 1, and finds nothing
)

FIELD_INDEX_SCHEMAS: dict[str, Any] = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "uuid": edge.PayloadSchemaType.Uuid,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
    "bool": edge.PayloadSchemaType.Bool,
    "datetime": edge.PayloadSchemaType.Datetime,
    # The default tokenizer reads a whole Chinese or Thai sentence as one word.
    "text": edge.TextIndexParams(tokenizer=edge.TokenizerType.Multilingual, lowercase=True),
}


# Of a collection. By default the engine uses eight on two cores. After each search they look for
# work before they sleep, and the thread that answers the request must wait for a core.
SEARCH_THREAD_COUNT = max(1, (os.cpu_count() or 2) - 1)


def to_edge_config(schema: CollectionSchema) -> edge.EdgeConfig:
    modifier = edge.Modifier.Idf if schema.has_idf else None
    sparse = {SPARSE: edge.EdgeSparseVectorParams(modifier=modifier)}
    is_half = schema.datatype == "float16"
    datatype = edge.VectorStorageDatatype.Float16 if is_half else None
    dense = edge.EdgeVectorParams(schema.dimension, edge.Distance.Cosine, datatype=datatype)
    return edge.EdgeConfig(
        vectors={DENSE: dense},
        sparse_vectors=sparse if schema.has_sparse else None,
        wal_enabled=True,
        max_search_threads=SEARCH_THREAD_COUNT,
    )


def to_edge_point(point: Point) -> edge.Point:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense
    if point.sparse is not None and point.sparse.indices:
        vectors[SPARSE] = _to_edge_sparse(point.sparse)
    return edge.Point(point.id, vectors, point.payload)


def _to_edge_sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(vector.indices, vector.values)


def to_edge_filter(filter: Filter | None) -> edge.Filter | None:
    return None if filter is None else FILTER_TRANSLATOR.translate(filter)


def to_edge_request(query: Query, vector_queries: Sequence[VectorQuery]) -> edge.QueryRequest:
    limit, filter = compute_fetch_limit(query), to_edge_filter(query.filter)
    fusion, corpus = query.fusion, to_edge_filter(query.corpus)
    if fusion is None:
        return edge.QueryRequest(
            limit=limit,
            query=_nearest_query(vector_queries[0]),
            filter=filter,
            with_payload=query.with_payload,
            with_vector=[SPARSE] if query.with_terms else None,
            params=_make_params(vector_queries[0], corpus),
        )
    candidates = [
        edge.Prefetch(
            limit=fusion.prefetch,
            query=_nearest_query(ranking),
            filter=filter,
            params=_make_params(ranking, corpus),
        )
        for ranking in vector_queries
    ]
    rrf: Any = edge.Fusion.Rrf(k=to_qdrant_rrf_k(fusion.k))
    return edge.QueryRequest(
        limit=limit, prefetches=candidates, query=rrf, with_payload=query.with_payload
    )


def _nearest_query(vector_query: VectorQuery) -> Any:
    vector = vector_query.vector
    query: Any = _to_edge_sparse(vector) if isinstance(vector, SparseVector) else vector
    return edge.Query.Nearest(query, using=vector_query.using)


def _make_params(vector_query: VectorQuery, corpus: edge.Filter | None) -> edge.SearchParams | None:
    if corpus is None or not vector_query.has_idf:  # the engine refuses one for other vectors
        return None
    return edge.SearchParams(idf=edge.IdfParams(corpus))


def to_uuid(point_id: Any) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))


def from_edge_point(record: edge.Record) -> StoredPoint:
    vectors: Any = record.vector or {}
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    return StoredPoint(
        id=to_uuid(record.id),
        payload=record.payload or {},
        dense=None if dense is None else np.asarray(dense, dtype=np.float32),
        sparse=None if sparse is None else SparseVector(sparse.indices, sparse.values),
    )


def to_scored_point(hit: edge.ScoredPoint) -> ScoredPoint:
    vectors: Any = hit.vector or {}
    terms = vectors[SPARSE].indices if SPARSE in vectors else ()
    return ScoredPoint(to_uuid(hit.id), hit.score, hit.payload or {}, terms)


def create_field_indexes(shard: edge.EdgeShard, fields: Mapping[str, str]) -> None:
    for field, kind in fields.items():
        shard.update(edge.UpdateOperation.create_field_index(field, FIELD_INDEX_SCHEMAS[kind]))
