"""Show indexing progress on stderr and wait for it: bars on a terminal, else periodic lines."""

import sys
import threading
import time
from collections.abc import Iterator

from django.db import DatabaseError, connections
from rich.console import Console
from rich.progress import TaskID

import strata_types
from core.progress_bars import make_bars
from indexing.progress import get_index_progress

POLL_SECONDS = 1.0
# Counting takes longer the more documents there are. The pause after it is so many times its
# processor time, so that it takes at most a hundredth of a processor.
WAIT_PER_SECOND = 100
LOG_LINE_SECONDS = 10.0  # between two lines without a terminal


def show_indexing_progress(stop_event: threading.Event) -> None:
    """Show what is being indexed, with an estimate of the time left, until ``stop_event``."""
    console = Console(file=sys.stderr)
    try:
        if console.is_terminal:
            _draw_bars(console, stop_event)
        else:
            _write_lines(stop_event)
    finally:
        connections.close_all()


def _draw_bars(console: Console, stop_event: threading.Event) -> None:
    bars = make_bars(console)
    shown: dict[str, TaskID] = {}
    for found in _watch_unfinished_indexes(stop_event):
        unfinished = {progress["name"]: progress for progress in found}
        for name in [*shown]:
            if name not in unfinished:
                bars.remove_task(shown.pop(name))
        for name, progress in unfinished.items():
            if name not in shown:
                shown[name] = bars.add_task(f"Indexing {name}")
            synced = progress["nodes"]["synced"]
            total = synced + progress["nodes"]["pending"]
            bars.update(shown[name], completed=synced, total=total)
        if shown:
            bars.start()
        else:
            bars.stop()
    bars.stop()


def _write_lines(stop_event: threading.Event) -> None:
    started_at: float | None = None
    synced_before = 0
    last_line_at = 0.0
    for unfinished in _watch_unfinished_indexes(stop_event):
        now = time.monotonic()
        if not unfinished:
            if started_at is not None and not _unfinished_indexes():
                print("Indexed: every node is synced.", file=sys.stderr, flush=True)  # noqa: T201
                started_at = None
            continue
        synced = sum(progress["nodes"]["synced"] for progress in unfinished)
        if started_at is None or synced < synced_before:
            started_at, synced_before = now, synced
        if now - last_line_at < LOG_LINE_SECONDS:
            continue
        last_line_at = now
        pending = sum(progress["nodes"]["pending"] for progress in unfinished)
        rate = (synced - synced_before) / max(now - started_at, 0.001)
        left = f", about {pending / rate:.0f} s left" if rate > 0 else ""
        waiting = sum(progress["artifacts_waiting"] for progress in unfinished)
        unplanned = f"; {waiting} documents not planned yet" if waiting else ""
        line = f"Indexing: {synced} nodes synced, {pending} to go{left}{unplanned}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201


def _watch_unfinished_indexes(stop_event: threading.Event) -> Iterator[list[strata_types.Index]]:
    wait_seconds = POLL_SECONDS
    while not stop_event.wait(wait_seconds):
        used_before = time.thread_time()
        unfinished = _unfinished_indexes()
        wait_seconds = max(POLL_SECONDS, (time.thread_time() - used_before) * WAIT_PER_SECOND)
        yield unfinished


def _unfinished_indexes() -> list[strata_types.Index]:
    try:
        every = get_index_progress()
    except DatabaseError:  # busy: try again at the next poll
        return []
    return [
        progress
        for progress in every
        if progress["nodes"]["pending"] or progress["artifacts_waiting"]
    ]
