"""The baseline of every benchmark: the same chunks, model and engine without the service."""

import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.service import SampleText

if TYPE_CHECKING:
    from indexing.stores import Query

TEXTS_PER_BATCH = 16  # texts per call of the model: the fastest of 8, 16 and 32 where it was tried
POINTS_PER_UPSERT = 500


def chunk_texts(texts: Sequence[SampleText]) -> list[str]:
    """Return the texts that the service embeds for these documents under the plain recipe."""
    from documents.source_splitting import split_into_sources
    from indexing.chunking import prepend_context, split_into_chunks
    from indexing.embedding import get_embedder
    from indexing.spec import IndexSpec

    spec = IndexSpec(name="plain")
    count_tokens = get_embedder(spec.embedding).count_tokens
    [strategy] = spec.chunks.strategies
    return [
        prepend_context(text.title, chunk.text)
        for text in texts
        for span in split_into_sources(text.text)
        for chunk in split_into_chunks(
            text.text[span.start : span.end],
            strategy,
            context=text.title,
            window=spec.embedding.window,
            count_tokens=count_tokens,
        )
    ]


def time_raw_indexing(chunks: Sequence[str]) -> float:
    """Return the seconds to sort, embed and upsert: dense and BM25, a durable log, one flush."""
    import qdrant_edge as edge

    from indexing.embedding import get_embedder
    from indexing.spec import EmbeddingSpec

    model: Any = get_embedder(EmbeddingSpec()).llama_index
    model = model._model  # fastembed's own
    bm25 = edge.Bm25()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "shard").mkdir()
        shard = edge.EdgeShard.create(
            str(Path(folder) / "shard"),
            edge.EdgeConfig(
                vectors={"dense": edge.EdgeVectorParams(384, edge.Distance.Cosine)},
                sparse_vectors={"sparse": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
            ),
        )
        started = time.perf_counter()
        by_length = sorted(chunks, key=len)
        points = []
        for text, vector in zip(
            by_length, model.embed(by_length, batch_size=TEXTS_PER_BATCH), strict=True
        ):
            vectors = {"dense": vector.tolist(), "sparse": bm25.embed_document(text)}
            points.append(edge.Point(uuid.uuid4(), vectors, {"text": text}))
            if len(points) == POINTS_PER_UPSERT:
                shard.update(edge.UpdateOperation.upsert_points(points))
                points = []
        if points:
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.flush()
        seconds = time.perf_counter() - started
        shard.close()
    return seconds


def build_raw_query(query: str, limit: int) -> "Query":
    """Embedded and encoded as the service does, under the default settings."""
    import numpy as np

    from indexing.embedding import get_embedder
    from indexing.spec import EmbeddingSpec, IndexSpec, SearchSpec
    from indexing.stores import Query, RankFusion, get_bm25_encoder

    settings = SearchSpec()
    return Query(
        dense=np.asarray(get_embedder(EmbeddingSpec()).embed_query(query)),
        sparse=get_bm25_encoder(IndexSpec(name="plain").sparse).encode_query(query),
        fusion=RankFusion(
            settings.rrf_k, settings.dense_weight, settings.sparse_weight, settings.prefetch
        ),
        limit=limit,
    )
