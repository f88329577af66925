"""Run background workers in this process, for commands that run without a server.

The workers belong to apps that ``core`` may not import, so ``config`` registers them here.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

RunWorkers = Callable[[], AbstractContextManager[None]]

_run_workers: RunWorkers | None = None


def register_local_workers(run_workers: RunWorkers) -> None:
    global _run_workers
    _run_workers = run_workers


def local_workers() -> AbstractContextManager[None]:
    """Run workers in threads of this process until the block ends. The process must own the
    store."""
    if _run_workers is None:
        raise RuntimeError("No local workers are registered.")
    return _run_workers()
