"""Measure what a search loses, and the disk gains, if vectors are kept in half precision.

It measures no time: the same data give the same figures on any machine.
"""

import tempfile
import uuid
from pathlib import Path

import numpy as np

from evaluation.judged_queries import read_corpus, read_judged_queries
from evaluation.measures import Measure
from evaluation.measuring import compute_measures
from indexing.embedding import get_embedder
from indexing.model_loading import waiting_for_models
from indexing.spec import Datatype, EmbeddingSpec
from indexing.stores import CollectionSchema, Point, Query
from indexing.stores.embedded import EmbeddedStore
from tests.serving import ROOT

BEIR = ROOT.parent / "shared" / "data" / "beir"
MEASURE = Measure("nDCG", 10)
DEPTH = 10
DATATYPES: tuple[Datatype, ...] = ("float32", "float16")


def measure_half_precision(collection: str) -> None:
    """Embed each text once, whole, and search the same vectors in both precisions."""
    folder = BEIR / collection
    if not folder.is_dir():
        print(f"half-precision: left out, there is no {folder}")
        return
    judged = read_judged_queries(folder)
    texts = list(read_corpus(folder))
    with waiting_for_models(120):
        embedder = get_embedder(EmbeddingSpec())
    vectors = embedder.embed_documents([f"{each.title}\n{each.text}" for each in texts])
    queries = dict(
        zip(judged.queries, embedder.embed_queries(list(judged.queries.values())), strict=True)
    )
    points = [
        Point(uuid.UUID(int=number), vector, None, {})
        for number, vector in enumerate(vectors, start=1)
    ]
    rankings: dict[Datatype, dict[str, list[str]]] = {}
    print(f"{collection}: {len(texts):,} texts, {len(queries):,} queries, one vector for each text")
    for datatype in DATATYPES:
        with tempfile.TemporaryDirectory(prefix="strata-half-") as data:
            store = EmbeddedStore(Path(data))
            store.ensure_collection("texts", CollectionSchema(384, {}, datatype=datatype))
            store.upsert("texts", points)
            rankings[datatype] = {
                query_id: [
                    texts[hit.id.int - 1].id
                    for hit in store.search("texts", Query(dense=vector, limit=DEPTH))
                ]
                for query_id, vector in queries.items()
            }
            store.close()
        ndcg = np.mean(compute_measures([MEASURE], judged, rankings[datatype])[str(MEASURE)])
        print(f"  {datatype}: {MEASURE} {ndcg:.4f}", flush=True)
    pairs = [[rankings[name][query_id] for name in DATATYPES] for query_id in queries]
    shared = np.mean([len(set(full) & set(half)) / DEPTH for full, half in pairs])
    equal = sum(full == half for full, half in pairs)
    print(f"  the first {DEPTH} hits: {shared:.2%} are the same; {equal} of {len(pairs)} rankings"
          " are equal")  # fmt: skip
