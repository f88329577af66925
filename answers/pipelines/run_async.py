"""How components run beside one another, without blocking the event loop."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from retrieval.event_loop import run_in_thread

T = TypeVar("T", bound=type)


def add_run_async(component: T) -> T:
    """Add a ``run_async`` that calls ``run`` in a thread, so that the event loop is not blocked.

    Haystack can do this itself, but does not close the thread's stale database connections.
    """
    run: Callable[..., Any] = component.run  # type: ignore[attr-defined]

    @wraps(run)
    async def run_async(self: Any, **inputs: Any) -> Any:
        return await run_in_thread(run, self, **inputs)

    component.run_async = run_async  # type: ignore[attr-defined]
    return component
