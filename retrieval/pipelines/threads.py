"""Components that wait for the database, a model or the store, in threads of their own."""

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.db import close_old_connections

T = TypeVar("T", bound=type)
R = TypeVar("R")


def in_threads(component: T) -> T:
    """Give a component ``run_async``: its ``run`` in a thread, for the event loop to stay free.

    Haystack would do as much, and leave the thread's database connections as they are: no
    request ends there, so nothing else puts away those gone bad.
    """
    run: Callable[..., Any] = component.run  # type: ignore[attr-defined]

    @wraps(run)
    async def run_async(self: Any, **inputs: Any) -> Any:
        return await asyncio.to_thread(_run_in_thread, run, self, inputs)

    component.run_async = run_async  # type: ignore[attr-defined]
    return component


def _run_in_thread(run: Callable[..., Any], component: Any, inputs: dict[str, Any]) -> Any:
    return with_connections(run, component, **inputs)


def with_connections(act: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Act in a thread of the event loop's: no request ends there, so connections to the database
    that went bad are put away here."""
    close_old_connections()
    try:
        return act(*args, **kwargs)
    finally:
        close_old_connections()
