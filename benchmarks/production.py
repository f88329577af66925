"""Measure the production form, started as in ``docs/how-to/run-on-servers.md``.

The run starts PostgreSQL and Redis, to count their processor time as well; Qdrant is the tests'
stand-in. Needs ``make production``.
"""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.raw import chunk_texts, load_raw_model
from benchmarks.resources import read_processor_seconds
from benchmarks.service import add_texts, load_abstracts, wait_until_ready
from tests.faults.servers_rig import PostgreSQL, Redis
from tests.qdrant_loopback.process import qdrant_loopback
from tests.servers.production import Production

DATABASE, BROKER = "PostgreSQL", "Redis"
WARM_COUNT = 20  # documents added first, so that every worker child has loaded its model
WANTED_SHARE = 0.7
RUN_TASK = re.compile(r"Task (\S+)\[\S+\] succeeded")


def measure_production(count: int) -> None:
    """Add abstracts in one request; count tasks and processor time until all are ready."""
    texts = load_abstracts(WARM_COUNT + count)
    warm, texts = texts[:WARM_COUNT], texts[WARM_COUNT:]
    chunks = chunk_texts(texts)
    _measure_model(chunks[:200])  # warm up
    model_before = _measure_model(chunks)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strata-bench-")))
        folder.chmod(0o755)  # PostgreSQL's user needs access
        (folder / "postgresql").mkdir()
        postgresql = PostgreSQL(folder / "postgresql")
        stack.callback(postgresql.stop)
        redis = Redis(folder)
        stack.callback(redis.stop)
        production = Production(
            folder,
            database_url=postgresql.url,
            redis_url=redis.url,
            qdrant_url=stack.enter_context(qdrant_loopback()).url,
            DJANGO_SETTINGS_MODULE="config.settings.production",
            WEB_CONCURRENCY="2",
            STRATA_KEY_REQUESTS_PER_MINUTE="0",
        )
        for command in (["migrate"], ["status"]):
            production.manage(*command).check_returncode()
        production.authorise(production.manage("key", "create", "benchmark").stdout.strip())
        pids = {
            DATABASE: int((folder / "postgresql" / "postmaster.pid").read_text().split()[0]),
            BROKER: redis.pid,
            "web": stack.enter_context(production.web()).pid,
            "indexing": stack.enter_context(production.worker("indexing")).pid,
            "documents": stack.enter_context(
                production.worker("planning", "documents", "llm", "webhooks", children=3)
            ).pid,
            "beat": stack.enter_context(production.beat()).pid,
        }
        add_texts(production, warm)
        wait_until_ready(production, WARM_COUNT)
        tasks_before = _count_tasks(production)
        before = {name: read_processor_seconds(pid) for name, pid in pids.items()}
        started = time.perf_counter()
        add_texts(production, texts)
        wait_until_ready(production, WARM_COUNT + len(texts), poll_seconds=1.0)
        seconds = time.perf_counter() - started
        used = {name: read_processor_seconds(pid) - before[name] for name, pid in pids.items()}
        tasks = _count_tasks(production) - tasks_before
    # Measured before and after, because other load on the machine changes the model's speed.
    model_seconds = (model_before + _measure_model(chunks)) / 2
    ours = sum(used.values()) - used[DATABASE] - used[BROKER]
    print(f"production form, {len(texts)} abstracts, {len(chunks)} chunks:")
    print(f"  add to ready {seconds:.1f} s, {len(chunks) / seconds:.0f} chunks/s")
    print(f"  {tasks.total()} tasks:", ", ".join(f"{n} {task}" for task, n in tasks.most_common()))
    print("  processor seconds:", ", ".join(f"{name} {each:.1f}" for name, each in used.items()))
    print(f"  the model alone, embedding these chunks: {model_seconds:.1f}, which is")
    print(f"  {model_seconds / ours:.2f} of ours (wanted: {WANTED_SHARE} or more)", end=", ")
    print(f"{model_seconds / sum(used.values()):.2f} with {DATABASE} and {BROKER}")


def _measure_model(chunks: Sequence[str]) -> float:
    """Return the processor seconds in which this process embeds the chunks."""
    embed = load_raw_model()
    started = time.process_time()
    for _ in embed(chunks):
        pass
    return time.process_time() - started


def _count_tasks(production: Production) -> Counter[str]:
    """Count the tasks run so far in the workers' logs."""
    return Counter(RUN_TASK.findall(production.read_logs()))
