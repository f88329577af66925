"""The baseline of every benchmark: the same chunks, model and engine without the service."""

import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.service import SampleText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from indexing.stores import Query

    Embed = Callable[[Sequence[str]], Iterable[tuple[str, NDArray[np.float32]]]]

TEXTS_PER_BATCH = 16  # texts per call of the model; the fastest of 8, 16 and 32 when measured
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


def time_raw_indexing(
    chunks: Sequence[str],
    embed: "Embed | None" = None,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the seconds to embed and upsert: dense and BM25, a durable log, one flush."""
    import qdrant_edge as edge

    embed = embed or load_raw_model()
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
        started = clock()
        points = []
        for text, vector in embed(chunks):
            vectors = {"dense": vector.tolist(), "sparse": bm25.embed_document(text)}
            points.append(edge.Point(uuid.uuid4(), vectors, {"text": text}))
            if len(points) == POINTS_PER_UPSERT:
                shard.update(edge.UpdateOperation.upsert_points(points))
                points = []
        if points:
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.flush()
        seconds = clock() - started
        shard.close()
    return seconds


def load_raw_model() -> "Embed":
    """Load the service's default model directly into its runtime."""
    import numpy as np
    import onnxruntime
    from django.conf import settings
    from tokenizers import Tokenizer

    from indexing.embedding import minilm

    folder = minilm.find_model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings.STRATA_EMBEDDING_THREADS or 0
    session = onnxruntime.InferenceSession(
        str(folder / minilm.FILES["float32"]), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(minilm.WINDOW)
    tokenizer.no_padding()

    def embed(texts: Sequence[str]) -> "Iterator[tuple[str, NDArray[np.float32]]]":
        """Yield each text with its unit vector, the shortest text first."""
        encoded = zip(texts, tokenizer.encode_batch_fast(texts), strict=True)
        by_length = sorted(encoded, key=lambda pair: len(pair[1].ids))
        for start in range(0, len(by_length), TEXTS_PER_BATCH):
            batch = by_length[start : start + TEXTS_PER_BATCH]
            lengths = np.array([len(encoding.ids) for _, encoding in batch])
            mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
            ids = np.zeros_like(mask)
            ids[mask == 1] = np.concatenate([encoding.ids for _, encoding in batch])
            [hidden] = session.run(None, {"input_ids": ids, "attention_mask": mask})
            sums = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32))
            vectors = sums / np.linalg.norm(sums, axis=1, keepdims=True)
            yield from zip((text for text, _ in batch), vectors, strict=True)

    return embed


def build_raw_query(query: str, limit: int, vector: Any = None) -> "Query":
    """Embed and encode a query as the service does with default settings. ``vector``: instead of
    that of the model."""
    import numpy as np

    from indexing.embedding import get_embedder
    from indexing.spec import EmbeddingSpec, IndexSpec, SearchSpec
    from indexing.stores import Query, RankFusion, get_bm25_encoder

    settings = SearchSpec()
    return Query(
        dense=np.asarray(
            get_embedder(EmbeddingSpec()).embed_query(query) if vector is None else vector
        ),
        sparse=get_bm25_encoder(IndexSpec(name="plain").sparse).encode_query(query),
        fusion=RankFusion(settings.rrf_k, settings.prefetch),
        limit=limit,
    )
