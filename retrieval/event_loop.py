"""Runs blocking calls in threads, so that they do not block the event loop."""

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")


async def run_in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call ``function`` in a thread of the event loop's executor.

    Django closes old database connections when a request ends. No request ends in that thread, so
    this function closes them.
    """

    def call_and_close_connections() -> R:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return await asyncio.to_thread(call_and_close_connections)


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
