"""Splits writes into requests that a Qdrant server accepts."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from indexing.stores.base import Point
from indexing.stores.qdrant_queries import UPSERT_BATCH

# A server refuses bodies above 32 MiB. Sizes are estimated, so a quarter is kept free.
MAX_BODY_BYTES = 24 * 2**20
BYTES_PER_NUMBER = 24  # a float and its comma as JSON
POINT_OVERHEAD_BYTES = 200

T = TypeVar("T")


def cut_batches(rows: Sequence[T], estimate: Callable[[T], int]) -> Iterator[list[T]]:
    """Batches of at most ``UPSERT_BATCH`` rows and ``MAX_BODY_BYTES``; a larger row is a batch
    alone."""
    batch: list[T] = []
    byte_count = 0
    for row in rows:
        row_bytes = estimate(row)
        if batch and (len(batch) == UPSERT_BATCH or byte_count + row_bytes > MAX_BODY_BYTES):
            yield batch
            batch, byte_count = [], 0
        batch.append(row)
        byte_count += row_bytes
    if batch:
        yield batch


def estimate_bytes(payload: Any) -> int:
    """Bytes of a payload in a request. Its text is stored twice, as ``text`` and ``content``."""
    text = payload.get("text")
    return len(json.dumps(payload)) + len(json.dumps(text)) + POINT_OVERHEAD_BYTES


def estimate_point_bytes(point: Point) -> int:
    numbers = 0 if point.dense is None else len(point.dense)
    if point.sparse is not None:
        numbers += 2 * len(point.sparse.indices)
    return numbers * BYTES_PER_NUMBER + estimate_bytes(point.payload)
