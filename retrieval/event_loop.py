"""Runs blocking calls in threads, so that they do not block the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
