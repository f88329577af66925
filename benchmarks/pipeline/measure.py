"""Measure the processor time of everything but the model, by parts, beside a raw loop; compare it
with another commit by turns, or with the figures that the repository keeps."""

import json
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filling import RandomEmbedder, generate_text
from benchmarks.raw import build_raw_query, time_raw_indexing
from tests.serving import ROOT, Service

KEPT = Path(__file__).with_name("kept.json")  # ratios to the raw loop
# Of a kept figure; above it, the check fails. Runs on a busy machine differ by a fifth.
MOST = 1.25
COLLECTION = "plain.page_embeddings.1"
SMALL_CHUNKS = 3
SERVED_SECONDS = 900
SPECS = {"plain": "", "deck": "page_summaries: true\n"}
WARM_UP = "warm-up"
# Search, its parameters.
SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "pages": ("pages", {"index": "plain", "limit": 10}),
    "pages, grouped": ("pages", {"index": "plain", "limit": 10, "group_by": "artifact"}),
    "hierarchical": ("hierarchical", {"index": "deck"}),
}


@dataclass(frozen=True, slots=True)
class Sizes:
    small: int  # documents of ``SMALL_CHUNKS`` chunks, each in a request
    large: int  # files of 100 chunks
    batch: int  # documents of one chunk in one request
    summarised: int  # documents of the index that has summaries
    searches: int  # of each kind


WHOLE = Sizes(small=400, large=20, batch=5_000, summarised=100, searches=300)
# Without small documents in requests of their own: how many share a batch depends on the disk.
CHECKED = Sizes(small=0, large=4, batch=200, summarised=20, searches=60)


class _Served(Service):
    program = ("-m", "benchmarks.pipeline.served")


Parts = dict[str, float]  # processor ms of a chunk or search, by part
Runs = dict[str, list[Parts]]  # by workload


def measure_pipeline(
    against: str | None, pairs: int, *, checks: bool = False, keeps: bool = False
) -> bool:
    """Print the figures of this checkout, and of the commit ``against`` by turns with it. With
    ``checks``, return whether the kept figures hold; with ``keeps``, replace them."""
    workloads = _make_workloads(CHECKED if checks or keeps else WHOLE)
    with ExitStack() as stack:
        roots = {"this": ROOT}
        if against is not None:
            roots = {"other": stack.enter_context(_checkout(against)), **roots}
        runs: dict[str, Runs] = {name: defaultdict(list) for name in roots}
        rates: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        raw: list[Parts] = []
        for pair in range(pairs):
            for name in sorted(roots, reverse=pair % 2 == 0):
                with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
                    found = _serve(roots[name], Path(folder), workloads)
                    if name == "this":
                        raw.append(_measure_raw(Path(folder), workloads))
                for each in found:
                    parts = {part: s * 1e3 / each["count"] for part, s in each["parts"].items()}
                    runs[name][each["name"]].append(parts)
                    rates[name, each["name"]].append(each["count"] / each["elapsed"])
    ratios = _print(runs, raw, rates)
    if keeps:
        KEPT.write_text(json.dumps(ratios, indent=4) + "\n", encoding="utf-8")
    return not checks or _check(ratios)


def _make_workloads(sizes: Sizes) -> list[dict[str, Any]]:
    words = random.Random(7)

    def add(name: str, form: str, count: int, chunks: int, index: str = "plain") -> dict[str, Any]:
        documents = [
            {"title": f"{name} {number}", "text": generate_text(words, chunks)}
            for number in range(count)
        ]
        return {"name": name, "form": form, "index": index, "documents": documents}

    queries = [" ".join(generate_text(words, 1).split()[:6]) for _ in range(sizes.searches)]
    workloads = [
        add(WARM_UP, "file", 5, 2),
        add("small documents", "text", sizes.small, SMALL_CHUNKS),
        add("large documents", "file", sizes.large, 100),
        add("one batch", "batch", sizes.batch, 1),
        add("with summaries", "batch", sizes.summarised, SMALL_CHUNKS, "deck"),
        *(
            {"name": name, "search": search, "parameters": parameters, "queries": queries}
            for name, (search, parameters) in SEARCHES.items()
        ),
    ]
    return [each for each in workloads if each.get("documents", each.get("queries"))]


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """A worktree of this commit with these benchmarks, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        root = Path(folder) / "commit"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(root), commit], check=True)
        try:
            shutil.copytree(ROOT / "benchmarks", root / "benchmarks", dirs_exist_ok=True)
            yield root
        finally:
            subprocess.run([*git, "remove", "--force", str(root)], check=True)


def _serve(root: Path, folder: Path, workloads: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Serve a checkout, and send it the workloads."""
    (folder / "specs").mkdir()
    for name, spec in SPECS.items():
        (folder / "specs" / f"{name}.yaml").write_text(spec, encoding="utf-8")
    given, measured = folder / "workloads.json", folder / "measured.json"
    given.write_text(json.dumps(workloads), encoding="utf-8")
    service = _Served(
        folder, STRATA_SPECS_DIR=str(folder / "specs"), STRATA_KEY_REQUESTS_PER_MINUTE="0"
    )
    service.root = root
    service.spawn(str(service.port), str(given), str(measured)).wait(SERVED_SECONDS)
    if not measured.exists():
        raise RuntimeError(service.log.read_text(encoding="utf-8")[-4_000:])
    found: list[dict[str, Any]] = json.loads(measured.read_text(encoding="utf-8"))
    return [each for each in found if each["name"] != WARM_UP]


def _measure_raw(folder: Path, workloads: Sequence[dict[str, Any]]) -> Parts:
    """Processor ms of the raw loops: to write a chunk, and to search the points just written."""
    from indexing.spec import EmbeddingSpec
    from indexing.stores.embedded import EmbeddedStore

    embedder, words = RandomEmbedder(EmbeddingSpec()), random.Random(7)
    chunks = [generate_text(words, 1) for _ in range(2_000)]
    started = [
        time_raw_indexing(
            chunks,
            lambda texts: zip(texts, embedder.embed_documents(texts), strict=True),
            time.process_time,
        )
        for _ in range(3)
    ]
    shutil.copytree(folder / "vectors", folder / "copy")
    store = EmbeddedStore(folder / "copy")
    queries = next(each["queries"] for each in workloads if "search" in each)
    vectors = np.asarray(embedder.embed_documents(queries))
    searched = []
    for repeat in range(4):
        before = time.process_time()
        for query, vector in zip(queries, vectors, strict=True):
            store.search(COLLECTION, build_raw_query(query, 10, vector))
        searched += [time.process_time() - before] if repeat else []
    store.close()
    return {
        "indexing": min(started) * 1e3 / len(chunks),
        "searching": min(searched) * 1e3 / len(queries),
    }


def _print(
    runs: dict[str, Runs], raw: Sequence[Parts], rates: dict[tuple[str, str], list[float]]
) -> dict[str, float]:
    """Print medians, and return the ratios of this checkout to the raw loops."""
    ratios = {}
    for workload, this in runs["this"].items():
        loop = _loop(workload)
        unit = "search" if workload in SEARCHES else "chunk"
        totals = {
            name: [sum(parts.values()) for parts in by_workload[workload]]
            for name, by_workload in runs.items()
        }
        of_raw = [total / each[loop] for total, each in zip(totals["this"], raw, strict=True)]
        # Other load on the machine only adds time, so the least is nearest to the truth.
        ratios[workload] = round(min(totals["this"]) / min(each[loop] for each in raw), 2)
        print(f"{workload}: processor ms per {unit} without the model, median of {len(raw)}")
        for part in [*this[0], None]:
            by_name = {
                name: [each[part] for each in by_workload[workload]] if part else totals[name]
                for name, by_workload in runs.items()
            }
            line = "".join(f"  {name} {statistics.median(ms):7.3f}" for name, ms in by_name.items())
            if "other" in runs:
                pairs = zip(by_name["this"], by_name["other"], strict=True)
                line += f"  this more {statistics.median(ours - old for ours, old in pairs):+7.3f}"
            print(f"  {part or 'together':15}{line}")
        shown = (f"{name} {statistics.median(rates[name, workload]):.0f}" for name in runs)
        print(f"  a second of time, with the model's stand-in: {', '.join(shown)}")
        print(
            f"  raw loop          {statistics.median(each[loop] for each in raw):7.3f}; ratio "
            f"{ratios[workload]:.2f}, from {min(of_raw):.2f} to {max(of_raw):.2f}"
        )
    return ratios


def _check(ratios: dict[str, float]) -> bool:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    is_kept = True
    for name, ratio in ratios.items():
        if ratio > MOST * kept[name]:
            is_kept = False
            print(f"{name}: {ratio:.2f} times the raw loop, more than {MOST} x {kept[name]:.2f}.")
    return is_kept


def _loop(workload: str) -> str:
    """The raw loop that a workload is compared with."""
    return "searching" if workload in SEARCHES else "indexing"
