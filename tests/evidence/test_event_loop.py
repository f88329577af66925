"""Awaited functions that embed do not block the event loop."""

import asyncio
import statistics
import time
from collections.abc import Awaitable

import pytest

from evidence.search import afind_similar_evidence
from evidence.services import EvidenceInput, EvidenceVerdict, aadd_evidence
from indexing import embedding
from indexing.services import load_specs
from indexing.spec import EmbeddingSpec
from retrieval.retrievers import ChunkRetriever

TICK_SECONDS = 0.005


async def measure_lags(work: Awaitable[object]) -> list[float]:
    """Measure how much longer than requested short sleeps took during ``work``, in seconds."""
    lags = []
    task = asyncio.ensure_future(work)
    while not task.done():
        started = time.perf_counter()
        await asyncio.sleep(TICK_SECONDS)
        lags.append(time.perf_counter() - started - TICK_SECONDS)
    await task
    return lags


def texts(count: int) -> list[str]:
    return [
        f"Finding {n}: herons number {n} stand in the shallows at dawn. " * 4 for n in range(count)
    ]


def test_embedding_does_not_block_the_event_loop():
    embedder = embedding.get_embedder(EmbeddingSpec())

    lags = asyncio.run(measure_lags(embedder.aembed_documents(texts(64))))

    print(
        f"{len(lags)} ticks while 64 texts were embedded, milliseconds late: "
        f"median {statistics.median(lags) * 1_000:.1f}, most {max(lags) * 1_000:.1f}"
    )
    assert len(lags) > 10  # a blocked loop would give one or two


@pytest.mark.django_db(transaction=True)
def test_adding_and_searching_do_not_block_the_event_loop(store):
    load_specs()
    items = [EvidenceInput(f"https://one.example/{n}", text) for n, text in enumerate(texts(16))]
    decisions = []

    async def work() -> None:
        decisions.extend(await aadd_evidence("evidence", items, threshold=1.0))
        found = await afind_similar_evidence("evidence", "herons")
        answer = await ChunkRetriever("evidence").asearch("herons")
        assert found.answer.builds == answer.builds

    lags = asyncio.run(measure_lags(work()))

    assert {decision.verdict for decision in decisions} == {EvidenceVerdict.ADDED}
    assert len(lags) > 10
