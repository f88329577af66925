"""Splits writes into requests that a Qdrant server accepts, and groups changes of payloads."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from qdrant_client import models

from indexing.stores.base import Payload, Point
from indexing.stores.qdrant_queries import UPSERT_BATCH

# A server refuses bodies above 32 MiB. Sizes are estimated, so a quarter is kept free.
MAX_BODY_BYTES = 24 * 2**20
BYTES_PER_NUMBER = 24  # a float and its comma as JSON
POINT_OVERHEAD_BYTES = 200

T = TypeVar("T")


def cut_batches(rows: Sequence[T], estimate: Callable[[T], int]) -> Iterator[list[T]]:
    """Batches of at most ``UPSERT_BATCH`` rows and ``MAX_BODY_BYTES``; a larger row is alone."""
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
    return len(json.dumps(payload)) + POINT_OVERHEAD_BYTES


def estimate_point_bytes(point: Point) -> int:
    numbers = 0 if point.dense is None else len(point.dense)
    if point.sparse is not None:
        numbers += 2 * len(point.sparse.indices)
    return numbers * BYTES_PER_NUMBER + estimate_bytes(point.payload)


def make_payload_operations(
    stored: Mapping[UUID, Payload], expected: Mapping[UUID, Payload]
) -> list[models.UpdateOperation]:
    """Operations that make the stored payloads the expected ones: for each equal change one that
    sets the changed keys, and one that deletes the others. Points that are not stored are left
    out."""
    changes: dict[str, Payload] = {}
    ids_by_change: dict[str, list[UUID]] = {}
    for point_id, payload in stored.items():
        new = expected[point_id]
        values = {
            key: value
            for key, value in new.items()
            if key not in payload or _to_json(payload[key]) != _to_json(value)
        }
        if None in values.values():  # setting a key to null removes it
            change = {"payload": new, "overwrite": True, "removed": []}
        else:
            removed = sorted(payload.keys() - new.keys())
            change = {"payload": values, "overwrite": False, "removed": removed}
        ids_by_change.setdefault(_to_json(change), []).append(point_id)
        changes.setdefault(_to_json(change), change)
    operations: list[models.UpdateOperation] = []
    for key, ids in ids_by_change.items():
        change = changes[key]
        # By filter, because a point that was deleted meanwhile is then ignored; in a list of ids,
        # it is an error.
        these = models.Filter(must=[models.HasIdCondition(has_id=[str(each) for each in ids])])
        if change["overwrite"]:
            overwritten = models.SetPayload(payload=change["payload"], filter=these)
            operations.append(models.OverwritePayloadOperation(overwrite_payload=overwritten))
            continue
        if change["removed"]:
            removal = models.DeletePayload(keys=change["removed"], filter=these)
            operations.append(models.DeletePayloadOperation(delete_payload=removal))
        if change["payload"]:
            added = models.SetPayload(payload=change["payload"], filter=these)
            operations.append(models.SetPayloadOperation(set_payload=added))
    return operations


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
