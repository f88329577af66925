"""Keeps what one request asks for more than once: live builds and the vectors of queries."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("kept_for_this_request", default=None)


@contextmanager
def keep_for_request() -> Iterator[None]:
    """Within it, ``once`` keeps results; also in tasks and threads that are started within it."""
    token = _kept.set({}) if _kept.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _kept.reset(token)


def once(key: Hashable, compute: Callable[[], T]) -> T:
    """What ``compute`` returns, called once for each key of a request; outside of one, each time.

    Two threads may both call it at the same time; the last result is kept.
    """
    kept = _kept.get()
    if kept is None:
        return compute()
    if key not in kept:
        kept[key] = compute()
    result: T = kept[key]
    return result
