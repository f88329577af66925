"""Reads all points of a data folder as JSON, or writes them."""

import json
import sys
from typing import Any
from uuid import UUID

import django
import numpy as np


def read() -> dict[str, list[dict[str, Any]]]:
    """Build id and kind -> its points."""
    from indexing.models import Node
    from indexing.stores import get_store

    points: dict[str, list[dict[str, Any]]] = {}
    for node in Node.objects.filter(state=Node.State.SYNCED).select_related("build__index"):
        found = get_store().retrieve(
            node.build.collection(node.kind), [node.point_id], with_vectors=True
        )[node.point_id]
        assert found.dense is not None
        points.setdefault(f"{node.build_id} {node.kind}", []).append(
            {
                "id": str(found.id),
                "dense": [float(np.format_float_positional(each)) for each in found.dense],
                "sparse": found.sparse and [found.sparse.indices, found.sparse.values],
                "payload": found.payload,
            }
        )
    return points


def write(points: dict[str, list[dict[str, Any]]]) -> None:
    from django.core.management import call_command

    from indexing.models import IndexBuild
    from indexing.services.syncing import ensure_collection
    from indexing.stores import Point, SparseVector, get_store

    call_command("migrate", verbosity=0)
    for place, given in points.items():
        build_id, kind = place.split()
        build = IndexBuild.objects.select_related("index").get(pk=build_id)
        get_store().upsert(
            ensure_collection(build, kind),
            [
                Point(
                    UUID(each["id"]),
                    np.array(each["dense"], np.float32),
                    each["sparse"] and SparseVector(*each["sparse"]),
                    each["payload"],
                )
                for each in given
            ],
        )


def main() -> None:
    django.setup()
    from indexing.stores import close_store, exclusive_store_access

    with exclusive_store_access():
        if sys.argv[1] == "read":
            print(json.dumps(read()))
        else:
            write(json.load(sys.stdin))
        close_store()


if __name__ == "__main__":
    main()
