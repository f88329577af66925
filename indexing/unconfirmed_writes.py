"""Tracks writes whose outcome is unknown because the store did not reply."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from indexing.exceptions import StoreOutcomeUnknown, StoreUnavailable
from indexing.models import IndexBuild, UnconfirmedWrite
from indexing.stores import get_store


@contextmanager
def unconfirmed_write(
    build: IndexBuild, collection: str, point_ids: Iterable[UUID]
) -> Iterator[None]:
    """Save the points that the block writes or removes as unconfirmed until the store has replied.

    A slow server may carry out a deletion after its caller timed out or died, and then delete a
    point that was written again meanwhile. Writes still unconfirmed after
    ``STRATA_UNCONFIRMED_SECONDS`` are compared with the ledger
    (``point_audit.resolve_unconfirmed_writes``)."""
    if not get_store().has_late_writes:
        yield
        return
    write = UnconfirmedWrite.objects.create(
        build=build, collection=collection, point_ids=[str(point_id) for point_id in point_ids]
    )
    try:
        yield
    except StoreOutcomeUnknown:
        raise
    except StoreUnavailable:
        write.delete()  # it was never sent
        raise
    write.delete()


def delete_points(build: IndexBuild, collection: str, point_ids: Sequence[UUID]) -> None:
    """Remove points from a collection of the build; unconfirmed until the store has replied."""
    with unconfirmed_write(build, collection, point_ids):
        get_store().delete(collection, point_ids)
