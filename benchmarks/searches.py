"""Compare the processor seconds of every kind of search in two checkouts, alternating."""

import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.resources import read_processor_seconds
from benchmarks.service import (
    Connection,
    add_texts,
    load_pages,
    production_service,
    wait_until_ready,
)
from tests.serving import ROOT, Service

if TYPE_CHECKING:
    from tests.servers.production import Production

PAGES = 100  # 3,200 nodes: filling both checkouts takes some minutes
PAGE_CHARS = 2_300  # five chunks
CONCEPTS = 100
SEARCHES_PER_RUN = 100  # of each kind
SPECS = {
    "all": "page_summaries: true\nquestions: {count: 3}\nconcepts: true\n",
    "weighted": "search: {sparse_weight: 2}\n",
}
# Index, search, further parameters.
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "pages": ("all", "pages", {}),
    "pages, explained": ("all", "pages", {"explain": True}),
    "pages, other weights": ("weighted", "pages", {}),
    "summaries": ("all", "summaries", {}),
    "questions": ("all", "questions", {}),
    "hierarchical": ("all", "hierarchical", {}),
    "concepts": ("all", "concepts", {}),
    "sources": ("all", "sources", {}),
    "route": ("all", "route", {}),
    "blend": ("all", "blend", {}),
}


@dataclass(frozen=True, slots=True)
class Searched:
    """A service with filled indexes, whose process ``pid`` answers the searches."""

    connect: Callable[[], Connection]
    pid: int


def measure_searches(
    other: Path, pairs: int, queries: list[str], *, is_production: bool = False
) -> None:
    """``other`` is a checkout with its own environment in ``.venv``; each has its own indexes."""
    form = _production if is_production else _embedded
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strata-bench-")))
        specs = folder / "specs"
        specs.mkdir()
        for name, spec in SPECS.items():
            (specs / f"{name}.yaml").write_text(spec, encoding="utf-8")
        services: dict[str, Searched] = {}
        for name, root in (("other", other), ("this", ROOT)):
            (folder / name).mkdir()
            services[name] = stack.enter_context(form(folder / name, root, specs))
        seconds: dict[str, dict[str, list[float]]] = {
            kind: {name: [] for name in services} for kind in KINDS
        }
        for pair in range(-1, pairs):
            for kind, (index, search, given) in KINDS.items():
                for name in sorted(services, reverse=pair % 2 == 0):
                    service = services[name]
                    before = read_processor_seconds(service.pid)
                    connection = service.connect()  # an idle one would have been closed
                    for n in range(SEARCHES_PER_RUN):
                        query = f"{queries[n % len(queries)]} {pair} {n}"
                        parameters = {"index": index, "query": query, **given}
                        connection.post(f"/api/v1/search/{search}", parameters)
                    connection.close()
                    if pair >= 0:
                        seconds[kind][name].append(read_processor_seconds(service.pid) - before)
    _print(seconds, pairs)


@contextmanager
def _embedded(folder: Path, root: Path, specs: Path) -> Iterator[Searched]:
    service = Service(folder, STRATA_SPECS_DIR=str(specs))
    service.root, service.python = root, str(root / ".venv/bin/python")
    service.start()
    try:
        _fill(service)
        assert service.process is not None
        yield Searched(partial(Connection, service.port), service.process.pid)
    finally:
        service.stop()


@contextmanager
def _production(folder: Path, root: Path, specs: Path) -> Iterator[Searched]:
    environment = {"STRATA_SPECS_DIR": str(specs)}
    with production_service(folder, environment, root=root) as (service, key, pid):
        _fill(service)
        yield Searched(partial(Connection, service.port, key), pid)


def _fill(service: "Service | Production") -> None:
    pages = load_pages(PAGES, PAGE_CHARS)
    for index in SPECS:
        add_texts(service, pages, index)
    for n in range(CONCEPTS):
        concept = {"label": f"{pages[n].title} {n}", "description": pages[n].text[:100]}
        service.api.post("indexes/all/concepts/", json=concept).raise_for_status()
    for index in SPECS:
        wait_until_ready(service, PAGES, index)
    while service.api.get("indexes/all/").json()["nodes"]["pending"]:
        pass


def _print(seconds: dict[str, dict[str, list[float]]], pairs: int) -> None:
    print(f"processor ms per search, {pairs} pairs of {SEARCHES_PER_RUN} by turns, medians:")
    for kind, by_name in seconds.items():
        medians = {
            name: statistics.median(taken) / SEARCHES_PER_RUN * 1e3
            for name, taken in by_name.items()
        }
        more = statistics.median(
            (ours - theirs) / SEARCHES_PER_RUN * 1e3
            for ours, theirs in zip(by_name["this"], by_name["other"], strict=True)
        )
        print(
            f"  {kind:22} other {medians['other']:6.2f}  this {medians['this']:6.2f}"
            f"  this more, median of the pairs: {more:+.2f}"
        )
