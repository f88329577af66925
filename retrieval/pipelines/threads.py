"""Components that wait for the database, a model or the store, in threads of their own."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from retrieval.awaiting import in_thread

T = TypeVar("T", bound=type)


def in_threads(component: T) -> T:
    """Give a component ``run_async``: its ``run`` in a thread, for the event loop to stay free.

    Haystack would do as much, and leave the thread's database connections as they are.
    """
    run: Callable[..., Any] = component.run  # type: ignore[attr-defined]

    @wraps(run)
    async def run_async(self: Any, **inputs: Any) -> Any:
        return await in_thread(run, self, **inputs)

    component.run_async = run_async  # type: ignore[attr-defined]
    return component
