"""Ownership of the embedded vector engine: only one process at a time can have it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connections

from indexing.stores import close_store, get_store


def has_embedded_store() -> bool:
    """Whether the settings choose the embedded vector engine."""
    return settings.STRATA_VECTOR_STORE == "embedded"


@contextmanager
def exclusive_store_access() -> Iterator[None]:
    """Open the embedded vector engine of this data folder; one process at a time can own it.

    Raises:
        StoreLocked: another process owns it.
    """
    get_store()
    try:
        yield
    finally:
        close_store()
        connections.close_all()
