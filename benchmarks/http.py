"""Compare search over HTTP in two checkouts, alternating, with a raw loop in the same run."""

import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.raw import build_raw_query
from benchmarks.service import Connection, add_texts, load_texts, wait_until_ready
from tests.serving import ROOT, Service, serving

TEXTS = 300
CLIENTS = {1: 120, 8: 30, 32: 10}  # concurrent clients -> searches of each client
PAUSE_SECONDS = 0.2

Times = dict[int, list[tuple[float, float]]]  # clients -> (p50, p99) of each run, in ms


def measure_http(other: Path, pairs: int, queries: list[str]) -> None:
    """``other`` is a checkout with its own environment in ``.venv``."""
    from indexing.stores.embedded import EmbeddedStore

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strata-bench-")))
        (folder / "filled").mkdir()
        with serving(folder / "filled") as service:
            add_texts(service, load_texts(TEXTS))
            wait_until_ready(service, TEXTS)
        services: dict[str, Service] = {}
        for name, root in (("other", other), ("this", ROOT)):
            shutil.copytree(folder / "filled", folder / name)
            services[name] = Service(folder / name)
            services[name].root, services[name].python = root, str(root / ".venv/bin/python")
            services[name].start()
            stack.callback(services[name].stop)
        shutil.copytree(folder / "filled" / "vectors", folder / "raw")
        store = EmbeddedStore(folder / "raw")
        stack.callback(store.close)

        def search_raw(query: str) -> None:
            store.search("plain.page_embeddings.1", build_raw_query(query, limit=10))

        raw: list[tuple[float, float]] = []
        times: dict[str, Times] = {name: {count: [] for count in CLIENTS} for name in services}
        for pair in range(-1, pairs):
            order = list(services) if pair % 2 else list(services)[::-1]
            took = [_time(search_raw, query) for query in _vary(queries, 60)]
            raw += _summarise(took) if pair >= 0 else []
            for count, searches in CLIENTS.items():
                for name in order:
                    time.sleep(PAUSE_SECONDS)
                    took = _search_at_once(services[name].port, count, _vary(queries, searches))
                    times[name][count] += _summarise(took) if pair >= 0 else []
    _print(raw, times, pairs)


def _search_at_once(port: int, count: int, queries: list[str]) -> list[float]:
    took: list[float] = []

    def search() -> None:
        connection = Connection(port)
        for query in queries:
            parameters = {"index": "plain", "limit": 10, "query": query}
            took.append(_time(connection.post, "/api/v1/search/pages", parameters))
        connection.close()

    threads = [threading.Thread(target=search) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def _time(function: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - started) * 1e3


def _vary(queries: list[str], count: int) -> list[str]:
    return [f"{queries[n % len(queries)]} {n}" for n in range(count)]


def _summarise(took: list[float]) -> list[tuple[float, float]]:
    return [(statistics.median(took), statistics.quantiles(took, n=100)[98])]


def _print(raw: list[tuple[float, float]], times: dict[str, Times], pairs: int) -> None:
    print(f"search over HTTP, {pairs} pairs of runs by turns, medians of the runs, ms:")
    print(f"  raw embed + raw query  p50 {statistics.median(p50 for p50, _ in raw):7.2f}")
    for count in CLIENTS:
        for name, by_count in times.items():
            p50s, p99s = zip(*by_count[count], strict=True)
            print(
                f"  {count:2} clients, {name:5}  p50 {statistics.median(p50s):7.2f}"
                f"  p99 {statistics.median(p99s):7.2f}"
            )
        more = [
            [ours[n] - theirs[n] for n in (0, 1)]
            for ours, theirs in zip(times["this"][count], times["other"][count], strict=True)
        ]
        p50, p99 = (statistics.median(column) for column in zip(*more, strict=True))
        print(f"     this costs more, median of the pairs: p50 {p50:+.2f}, p99 {p99:+.2f}")
