"""Our types in the engine's, and the engine's in ours."""

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
    SparseVector,
    StoredPoint,
)
from indexing.stores.engine import (
    DENSE,
    SPARSE,
    FilterTypes,
    Ranking,
    fetch_limit,
    has_equal_weights,
    native_rrf_k,
)

FILTERS = FilterTypes(
    filter=edge.Filter,
    field=edge.FieldCondition,
    value=edge.MatchValue,
    any_value=edge.MatchAny,
    text=edge.MatchText,
    number_range=edge.RangeFloat,
    datetime_range=edge.RangeDateTime,
    bool_value=np.bool_,  # Python's own bool is taken for the integers 0 and 1, and finds nothing
)

FIELD_INDEXES: dict[str, Any] = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
    "bool": edge.PayloadSchemaType.Bool,
    "datetime": edge.PayloadSchemaType.Datetime,
    # The default tokenizer takes a whole Chinese or Thai sentence for one word.
    "text": edge.TextIndexParams(tokenizer=edge.TokenizerType.Multilingual, lowercase=True),
}


# Of a collection. By itself the engine takes eight on two cores; after each search they look for
# more to do before they sleep, and the thread that is to answer waits behind them for a core.
SEARCH_THREADS = max(1, (os.cpu_count() or 2) - 1)


def edge_config(schema: CollectionSchema) -> edge.EdgeConfig:
    sparse = {SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(schema.dimension, edge.Distance.Cosine)},
        sparse_vectors=sparse if schema.has_sparse else None,
        payload_memory=edge.Memory.Cached,  # every hit's payload is read
        wal_enabled=True,
        max_search_threads=SEARCH_THREADS,
    )


def edge_point(point: Point) -> edge.Point:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense
    if point.sparse is not None and point.sparse.indices:
        vectors[SPARSE] = _edge_sparse(point.sparse)
    return edge.Point(point.id, vectors, point.payload)


def _edge_sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(vector.indices, vector.values)


def edge_filter(filter: Filter | None) -> edge.Filter | None:
    return None if filter is None else FILTERS.translate(filter)


def edge_request(query: Query, rankings: Sequence[Ranking]) -> edge.QueryRequest:
    limit, filter = fetch_limit(query), edge_filter(query.filter)
    fusion = query.fusion
    if fusion is None:
        return edge.QueryRequest(
            limit=limit, query=_nearest(rankings[0]), filter=filter, with_payload=True
        )
    candidates = [
        edge.Prefetch(limit=fusion.prefetch, query=_nearest(ranking), filter=filter)
        for ranking in rankings
    ]
    rrf: Any = edge.Fusion.Rrf(k=native_rrf_k(fusion.k))
    if has_equal_weights(rankings):
        return edge.QueryRequest(limit=limit, prefetches=candidates, query=rrf, with_payload=True)
    reciprocal_ranks = [
        edge.Prefetch(limit=fusion.prefetch, prefetches=[candidate], query=rrf)
        for candidate in candidates
    ]
    scores = [f"$score[{number}]" for number in range(len(rankings))]
    expression: Any = edge.Expression
    shares = [
        expression.Mult([expression.Constant(ranking.weight), expression.Variable(score)])
        for ranking, score in zip(rankings, scores, strict=True)
    ]
    return edge.QueryRequest(
        limit=limit,
        prefetches=reciprocal_ranks,
        query=edge.Formula(expression.Sum(shares), dict.fromkeys(scores, 0.0)),
        with_payload=True,
    )


def _nearest(ranking: Ranking) -> Any:
    vector = ranking.vector
    query: Any = _edge_sparse(vector) if isinstance(vector, SparseVector) else vector
    return edge.Query.Nearest(query, using=ranking.using)


def uuid_of(point_id: Any) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))


def stored_point(record: edge.Record) -> StoredPoint:
    vectors: Any = record.vector or {}
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    return StoredPoint(
        id=uuid_of(record.id),
        payload=record.payload or {},
        dense=None if dense is None else np.asarray(dense, dtype=np.float32),
        sparse=None if sparse is None else SparseVector(sparse.indices, sparse.values),
    )


def index_fields(shard: edge.EdgeShard, fields: Mapping[str, str]) -> None:
    for field, kind in fields.items():
        shard.update(edge.UpdateOperation.create_field_index(field, FIELD_INDEXES[kind]))
