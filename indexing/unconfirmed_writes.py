"""Writes to a store that were asked for and not answered: done, not done, or still to be done."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from indexing.exceptions import StoreSilent, StoreUnavailable
from indexing.models import IndexBuild, UnconfirmedWrite
from indexing.stores import get_store


@contextmanager
def unconfirmed_write(
    build: IndexBuild, collection: str, point_ids: Iterable[UUID]
) -> Iterator[None]:
    """Keep what the block writes or removes as unconfirmed until the store has answered.

    A server that is slow carries out a deletion when whoever asked has given it up or is dead, and
    takes a point along that was put back meanwhile. What is still unconfirmed after
    ``STRATA_UNCONFIRMED_SECONDS`` is compared with the ledger
    (``verification.resolve_unconfirmed_writes``)."""
    if not get_store().acts_late:
        yield
        return
    write = UnconfirmedWrite.objects.create(
        build=build, collection=collection, point_ids=[str(point_id) for point_id in point_ids]
    )
    try:
        yield
    except StoreSilent:
        raise
    except StoreUnavailable:
        write.delete()  # it was never sent
        raise
    write.delete()


def delete_points(build: IndexBuild, collection: str, point_ids: Sequence[UUID]) -> None:
    """Remove points from a collection of the build; unconfirmed until the store has answered."""
    with unconfirmed_write(build, collection, point_ids):
        get_store().delete(collection, point_ids)
