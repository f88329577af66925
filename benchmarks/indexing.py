"""Compare indexing over HTTP with the raw loop on the same chunks; measure the idle model time."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import raw
from benchmarks.resources import read_processor_seconds
from benchmarks.service import (
    SampleText,
    add_texts,
    load_texts,
    measured_service,
    read_embedding_seconds,
    wait_until_ready,
)


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float  # from the first byte sent to every document ready
    processor_seconds: float
    embedding_seconds: float = 0.0

    @property
    def idle_share(self) -> float:
        """The share of the time in which no worker embedded."""
        return 1 - self.embedding_seconds / self.seconds


def measure_indexing(counts: Sequence[int], rounds: int) -> None:
    for count in counts:
        texts = load_texts(count)
        chunks = raw.chunk_texts(texts)
        raw.time_raw_indexing(chunks[:200])  # warm up
        pairs = [(_measure_raw(chunks), _measure_service(texts)) for _ in range(rounds)]
        speed = statistics.median(theirs.seconds / ours.seconds for theirs, ours in pairs)
        print(f"indexing {count} texts, {len(chunks)} chunks, median of {rounds}:")
        for name, runs in zip(("raw loop", "add to ready"), zip(*pairs, strict=True), strict=True):
            seconds = statistics.median(run.seconds for run in runs)
            processor_seconds = statistics.median(run.processor_seconds for run in runs)
            print(f"  {name:12} {seconds:7.2f} s, processor {processor_seconds:7.2f} s")
        work = statistics.median(
            theirs.processor_seconds / ours.processor_seconds for theirs, ours in pairs
        )
        print(f"  speed of the raw loop reached: {speed:.2f}; its share of our processor time: "
              f"{work:.2f}")  # fmt: skip
        idle = statistics.median(ours.idle_share for _, ours in pairs)
        print(f"  share of the time in which the model was idle: {idle:.2f} (wanted: 0.10 or less)")


def _measure_raw(chunks: Sequence[str]) -> Measured:
    started = time.process_time()
    seconds = raw.time_raw_indexing(chunks)
    return Measured(seconds, time.process_time() - started)


def _measure_service(texts: Sequence[SampleText]) -> Measured:
    with measured_service() as service:
        service.add("plain", text="Once.", external_id="warm")  # loads the model
        assert service.process is not None
        pid = service.process.pid
        embedding_before = read_embedding_seconds(service)
        processor_before = read_processor_seconds(pid)
        started = time.perf_counter()
        add_texts(service, texts)
        wait_until_ready(service, len(texts) + 1)
        seconds = time.perf_counter() - started
        processor_seconds = read_processor_seconds(pid) - processor_before
        return Measured(
            seconds, processor_seconds, read_embedding_seconds(service) - embedding_before
        )
