"""Measure the time to the first event of an answer, against embedding and querying alone."""

import http.client
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.service import (
    SampleText,
    add_texts,
    load_abstracts,
    measured_service,
    wait_until_ready,
)
from tests.serving import KEY

PIPELINES = {"plain": "plain", "papers": "papers"}  # index -> the pipeline that its spec names
PAUSE_SECONDS = 0.1
QUESTIONS_PER_BLOCK = 10
QUESTIONS = [
    "How is machine translation evaluated without references?",
    "parsing morphologically rich languages",
    "What do attention heads learn about syntax?",
    "summarisation of long documents since 2010",
    "named entity recognition in tweets",
]


def measure_asking(count: int, questions: int) -> None:
    """Measure the plain pipeline and the pipeline of papers on the same documents."""
    for index, pipeline in PIPELINES.items():
        _measure_index(index, pipeline, load_abstracts(count), questions)


def _measure_index(index: str, pipeline: str, texts: Sequence[SampleText], questions: int) -> None:
    from benchmarks.raw import build_raw_query
    from indexing.stores.embedded import EmbeddedStore

    with measured_service() as service, tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(texts), 1_000):
            add_texts(service, texts[start : start + 1_000], index)
        wait_until_ready(service, len(texts), index)
        shutil.copytree(service.data_dir / "vectors", Path(folder) / "vectors")
        store = EmbeddedStore(Path(folder) / "vectors")

        def raw(question: str) -> float:
            started = time.perf_counter()
            store.search(f"{index}.page_embeddings.1", build_raw_query(question, limit=10))
            return time.perf_counter() - started

        def ask(question: str) -> tuple[float, float]:
            return _time_answer(service.port, index, question)

        baseline, first, whole = _measure_alternately(raw, ask, questions)
        store.close()
    print(f"asking {index}, {len(texts)} documents, pipeline {pipeline}, p50 of {questions}:")
    print(f"  raw embed + raw query {baseline * 1e3:7.2f} ms")
    print(f"  first event           {first * 1e3:7.2f} ms")
    print(f"  whole answer          {whole * 1e3:7.2f} ms   (extractive)")


def _measure_alternately(
    raw: Callable[[str], float], ask: Callable[[str], tuple[float, float]], count: int
) -> tuple[float, float, float]:
    """Return medians in seconds. Both alternate in short blocks; the first block does not count."""
    baselines: list[float] = []
    answers: list[tuple[float, float]] = []
    for block in range(-1, count // QUESTIONS_PER_BLOCK):
        asked = [f"{QUESTIONS[n % len(QUESTIONS)]} {n}" for n in range(QUESTIONS_PER_BLOCK)]
        time.sleep(PAUSE_SECONDS)
        of_raw = [raw(question) for question in asked]
        time.sleep(PAUSE_SECONDS)
        of_ours = [ask(question) for question in asked]
        if block >= 0:
            baselines += of_raw
            answers += of_ours
    return (
        statistics.median(baselines),
        statistics.median(first for first, _ in answers),
        statistics.median(whole for _, whole in answers),
    )


def _time_answer(port: int, index: str, question: str) -> tuple[float, float]:
    """Return the seconds until the first event is complete, and until the last."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    started = time.perf_counter()
    connection.request(
        "POST", "/api/v1/ask", json.dumps({"index": index, "query": question}), headers
    )
    response = connection.getresponse()
    assert response.status == 200, response.read()
    while response.readline().strip():
        pass  # read all lines of the first event
    first = time.perf_counter() - started
    rest = response.read()
    whole = time.perf_counter() - started
    assert b"event: error" not in rest, rest
    connection.close()
    return first, whole
