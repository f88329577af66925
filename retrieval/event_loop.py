"""Runs blocking calls in threads, so that an event loop goes on."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")


async def run_in_thread(act: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Act in one of the event loop's own threads.

    No request ends there, so connections to the database that went bad are put away here.
    """

    def act_there() -> R:
        close_old_connections()
        try:
            return act(*args, **kwargs)
        finally:
            close_old_connections()

    return await asyncio.to_thread(act_there)
