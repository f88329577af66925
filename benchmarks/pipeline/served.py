"""``python -m benchmarks.pipeline.served PORT WORKLOADS OUTPUT`` serves with random vectors, sends
the workloads from a thread, and writes the processor seconds of each part of the service.

Parts are timed by the processor time of their thread, each without the parts inside it. Time of
threads that are not Python's, such as the engine's, and of child processes, which read files, is a
part of its own, and all other time of the process is the last part. Periodic tasks and what stands
for the model are left out.
"""

import functools
import importlib
import inspect
import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from benchmarks.filling import RandomEmbedder
from benchmarks.resources import read_processor_seconds
from tests.serving import KEY

MODEL = "model"  # what stands for it is not counted
NATIVE = "engine threads"
CHILDREN = "child processes"
UPKEEP = "upkeep"  # periodic tasks, which run whenever their minute comes
INDEXING_TASKS = ("plan_build", "sync_nodes", "parse_artifact")
ADDING = {
    "receiving": ["config.request_handling._call_django", "documents.batches.add_batch"],
    "reading": ["documents.reading.parse_artifact"],
    CHILDREN: [],
    "planning": ["indexing.services.planning.DocumentPlanner.plan_next"],
    "drafting": ["indexing.services.rows.draft_rows"],
    "writing rows": ["indexing.services.rows.write_rows"],
    "syncing": ["indexing.services.syncing.sync_nodes"],
    "writing points": ["indexing.stores.embedded.EmbeddedStore.upsert"],
    NATIVE: [],
    "completing": [
        "indexing.services.documents._count_nodes",
        "indexing.revisions.complete_visible_revisions",
    ],
    "messages": [],
}
SEARCHING = {
    "rights": ["rest_framework.views.APIView.initial"],
    "query": [
        "core.serializers.StrictSerializer.read",
        "retrieval.search.query_vectors.embed_query",
        "indexing.sparse_vectors.encode_sparse_query",
    ],
    "engine": [
        "indexing.stores.embedded.EmbeddedStore.search",
        "indexing.stores.embedded.EmbeddedStore.search_many",
        "indexing.stores.embedded.EmbeddedStore.retrieve",
    ],
    NATIVE: [],
    "checks": ["retrieval.search.hit_checks.HitChecks.check"],
    "ranking": ["retrieval.all_searches.run_search"],
    "rendering": ["rest_framework.renderers.JSONRenderer.render"],
    "HTTP": [],
}
READY_SECONDS = 600
POLL_SECONDS = 0.1

_seconds: defaultdict[str, float] = defaultdict(float)
_inner_seconds: defaultdict[int, list[float]] = defaultdict(lambda: [0.0])  # by thread


@contextmanager
def _timing(part: str) -> Iterator[None]:
    """Add the processor time of the block to a part, and take it from the part around it."""
    inner = _inner_seconds[threading.get_ident()]
    inner.append(0.0)
    started = time.thread_time()
    try:
        yield
    finally:
        seconds = time.thread_time() - started
        _seconds[part] += seconds - inner.pop()
        inner[-1] += seconds


def _timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def iterate(*args: Any, **kwargs: Any) -> Iterator[Any]:
        steps, end = function(*args, **kwargs), object()
        while True:
            with _timing(part):
                step = next(steps, end)
            if step is end:
                return
            yield step

    def call(*args: Any, **kwargs: Any) -> Any:
        with _timing(part):
            return function(*args, **kwargs)

    is_generator = inspect.isgeneratorfunction(function)
    return functools.wraps(function)(iterate if is_generator else call)


def _time_functions() -> None:
    """Wrap the functions of all parts, wherever they were imported by name."""
    for part, paths in [*ADDING.items(), *SEARCHING.items()]:
        for path in paths:
            holder, _, name = path.rpartition(".")
            try:
                owner = _import(holder)
                function = inspect.getattr_static(owner, name)
            except (ImportError, AttributeError):
                print(f"{path} is missing; its time counts for the part around it.")
                continue
            if isinstance(function, classmethod):
                setattr(owner, name, classmethod(_timed(part, function.__func__)))
            elif inspect.isclass(owner):
                setattr(owner, name, _timed(part, function))
            else:
                _replace_everywhere(function, _timed(part, function))


def _import(path: str) -> Any:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def _replace_everywhere(function: Any, other: Any) -> None:
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is function:
                setattr(module, name, other)


def _instrument() -> None:
    from celery import current_app

    from indexing import embedding
    from retrieval.all_searches import SEARCHES

    importlib.import_module("config.urls")  # and by it what is imported late
    for name in ("embed_documents", "embed_queries", "embed_query", "count_tokens"):
        setattr(RandomEmbedder, name, _timed(MODEL, getattr(RandomEmbedder, name)))
    get_embedder: Any = functools.cache(RandomEmbedder)
    embedding.get_embedder = get_embedder
    embedding.load_models = lambda specs, seconds: []
    _time_functions()
    for name, task in current_app.tasks.items():
        if not name.endswith(INDEXING_TASKS):
            task.run = _timed(UPKEEP, task.run)
    for name, search in SEARCHES.items():
        SEARCHES[name] = replace(search, render=_timed("rendering", search.render))


def _drive(port: int, workloads: Path, output: Path) -> None:
    """Send the workloads, measure the rest of the process meanwhile, and stop it."""
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=READY_SECONDS,
            trust_env=False,
        ) as api:
            while not _is_ready(api):
                time.sleep(POLL_SECONDS)
            loaded = json.loads(workloads.read_text(encoding="utf-8"))
            output.write_text(json.dumps([_measure(api, each) for each in loaded]))
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _is_ready(api: httpx.Client) -> bool:
    try:
        return api.get("/health/ready").is_success
    except httpx.TransportError:
        return False


def _measure(api: httpx.Client, workload: dict[str, Any]) -> dict[str, Any]:
    is_search = "search" in workload
    before, chunks = _read_clocks(), _count_synced()
    _seconds.clear()
    started = time.perf_counter()
    _send(api, workload)
    if not is_search:
        _wait_until_ready()
    elapsed = time.perf_counter() - started
    parts = {name: _seconds[name] for name in (SEARCHING if is_search else ADDING)}
    clocks = {name: seconds - before[name] for name, seconds in _read_clocks().items()}
    total = clocks.pop("process") - _seconds[MODEL] - _seconds[UPKEEP]
    parts[list(parts)[-1]] = total - clocks[NATIVE] - sum(parts.values())
    parts |= {name: seconds for name, seconds in clocks.items() if name in parts}
    count = len(workload["queries"]) if is_search else _count_synced() - chunks
    return {"name": workload["name"], "count": count, "parts": parts, "elapsed": elapsed}


def _send(api: httpx.Client, workload: dict[str, Any]) -> None:
    for query in workload.get("queries", ()):
        parameters = {**workload["parameters"], "query": query}
        api.post(f"/api/v1/search/{workload['search']}", json=parameters).raise_for_status()
    documents: Sequence[dict[str, str]] = workload.get("documents", ())
    path = f"/api/v1/indexes/{workload.get('index')}/artifacts/"
    if workload.get("form") == "batch":
        lines = "\n".join(map(json.dumps, documents))
        response = api.post(f"{path}batch", content=lines).raise_for_status()
        assert '"rejected"' not in response.text, response.text[:1_000]
        return
    for document in documents:
        if workload["form"] == "file":
            file = (f"{document['title']}.txt", document["text"].encode())
            api.post(path, files={"file": file}).raise_for_status()
        else:
            api.post(path, json=document).raise_for_status()


def _wait_until_ready() -> None:
    """Asks the database from this thread, whose time is not counted."""
    from documents.models import Artifact, PendingRevision
    from indexing.models import IndexedDocument

    deadline = time.monotonic() + READY_SECONDS
    ready = IndexedDocument.objects.filter(state="ready")
    while ready.count() < Artifact.objects.count() or PendingRevision.objects.exists():
        assert time.monotonic() < deadline, "The documents are not ready."
        time.sleep(POLL_SECONDS)


def _count_synced() -> int:
    from indexing.models import Node

    return Node.objects.filter(state="synced").count()


def _read_clocks() -> dict[str, float]:
    """Processor seconds until now; of the process, without this thread."""
    ours = {thread.native_id for thread in threading.enumerate()}
    threads = Path("/proc/self/task").glob("*/schedstat")
    others = [each.read_text() for each in threads if int(each.parent.name) not in ours]
    process = time.process_time()
    return {
        "process": process - time.thread_time(),
        NATIVE: sum(int(each.split()[0]) for each in others) / 1e9,
        CHILDREN: read_processor_seconds(os.getpid()) - process,
    }


def main() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    _instrument()
    port, workloads, output = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    driver = threading.Thread(target=_drive, args=[port, workloads, output], daemon=True)
    driver.start()
    call_command("serve", port=port)


if __name__ == "__main__":
    main()
