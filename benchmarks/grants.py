"""Processor seconds of searches with a grant for groups, relative to a grant for everything."""

import statistics
import time

from access.grants import EVERYTHING, Grant

SEARCHES_PER_RUN = 100
GROUPS = ["staff", "board"]  # of every document
GRANTS = {
    "everything": EVERYTHING,
    "one group": Grant(groups=frozenset({"staff"})),
    "three groups": Grant(groups=frozenset({"board", "staff", "visitors"})),
}
MODES = ("hybrid", "dense")


def measure_grants(chunk_count: int, pairs: int, queries: list[str]) -> None:
    """Search the same index in this process with each grant in turn; ``pairs`` counts the runs."""
    from django.core.management import call_command

    from benchmarks.filling import fill_index
    from indexing import embedding
    from indexing.stores import close_store
    from retrieval.all_searches import run_search

    call_command("migrate", verbosity=0)
    get_embedder = embedding.get_embedder
    count = fill_index(chunk_count, groups=GROUPS)
    embedding.get_embedder = get_embedder
    print(f"processor ms per search, {count} chunks, {pairs} runs of {SEARCHES_PER_RUN} by turns:")
    for mode in MODES:
        seconds: dict[str, list[float]] = {name: [] for name in GRANTS}
        for run in range(-1, pairs):
            for name in sorted(GRANTS, reverse=run % 2 == 0):
                before = time.process_time()
                for n in range(SEARCHES_PER_RUN):
                    query = f"{queries[n % len(queries)]} w{n} w{run + 1}"
                    parameters = {"index": "plain", "query": query, "mode": mode}
                    hits = run_search("pages", parameters, GRANTS[name]).content["hits"]
                    assert hits, "A grant hides everything."
                if run >= 0:
                    seconds[name].append(time.process_time() - before)
        for name, taken in seconds.items():
            ratio = statistics.median(
                mine / theirs for mine, theirs in zip(taken, seconds["everything"], strict=True)
            )
            milliseconds = statistics.median(taken) / SEARCHES_PER_RUN * 1e3
            print(
                f"  {mode:7} {name:13} {milliseconds:6.2f}  ratio, median of the runs: {ratio:.3f}"
            )
    close_store()
