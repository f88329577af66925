"""What commands ask of apps higher up, which register it when they start: to load the specs, to
close the store, and to run all workers in this process."""

from collections.abc import Callable
from contextlib import AbstractContextManager

LoadSpecs = Callable[[], list[str]]
RunWorkers = Callable[[], AbstractContextManager[None]]

_load_specs: LoadSpecs | None = None
_close_store: Callable[[], None] | None = None
_run_workers: RunWorkers | None = None


def register_indexes(load_specs: LoadSpecs, close_store: Callable[[], None]) -> None:
    global _load_specs, _close_store
    _load_specs, _close_store = load_specs, close_store


def register_local_workers(run_workers: RunWorkers) -> None:
    global _run_workers
    _run_workers = run_workers


def load_specs() -> list[str]:
    """Load every spec as an index; return warnings for the user."""
    assert _load_specs is not None  # registered when Django starts
    return _load_specs()


def close_store() -> None:
    """Close this process's store, if it has opened one."""
    assert _close_store is not None
    _close_store()


def local_workers() -> AbstractContextManager[None]:
    """Take the embedded store, and run workers in threads of this process, until the block ends.
    Raises ``StrataError``: another process owns the store."""
    assert _run_workers is not None
    return _run_workers()
