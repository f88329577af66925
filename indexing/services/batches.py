"""Splits sequences into batches small enough for one SQL statement."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

ROWS_PER_STATEMENT = 500  # below SQLite's limit on parameters

T = TypeVar("T")


def slices(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
