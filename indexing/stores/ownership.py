"""Who owns the embedded vector engine: one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connections

from indexing.stores import close_store, get_store


def is_embedded() -> bool:
    """Whether these settings keep the vectors in the process that does the work."""
    return settings.STRATA_VECTOR_STORE == "embedded"


@contextmanager
def owning_store() -> Iterator[None]:
    """Own the vector engine of this data folder, and with it the right to do its work.

    Raises:
        StoreOwned: another process does.
    """
    get_store()
    try:
        yield
    finally:
        close_store()
        connections.close_all()
