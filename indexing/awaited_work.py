"""Work that other apps do with documents after they are indexed, and that commands wait for."""

from collections.abc import Callable, Collection
from uuid import UUID

# Index, ids of artifacts -> how many pieces of work are unfinished.
CountUnfinished = Callable[[str, Collection[UUID]], int]

_counters: list[CountUnfinished] = []


def register_awaited_work(count_unfinished: CountUnfinished) -> None:
    _counters.append(count_unfinished)


def count_awaited_work(index: str, artifact_ids: Collection[UUID]) -> int:
    return sum(count(index, artifact_ids) for count in _counters)
