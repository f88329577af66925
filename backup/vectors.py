"""The vectors of the builds, in a file for each: embedding them again would take hours."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from backup.rows import read_rows
from core.api_client import ApiClient
from core.exceptions import StrataError, UnknownIndex
from indexing.exceptions import UnknownBuild
from indexing.models import IndexBuild, Node
from indexing.services import reembed_nodes, write_vectors
from indexing.services.batches import ROWS_PER_STATEMENT
from indexing.stores.base import DenseVector

VECTORS_PER_REQUEST = 256
GONE = {UnknownIndex.code, UnknownBuild.code}


def dump_vectors(rows_folder: Path, folder: Path, api: ApiClient) -> int:
    """Ask the service for the vectors of all written nodes of the dumped rows, and write them to a
    file for each build; return how many there are.

    A vector that was replaced or removed since then is left out: its node is embedded again by a
    restore.
    """
    builds = {row["id"]: row for row in read_rows(rows_folder, "indexing.indexbuild")}
    nodes = (
        row for row in read_rows(rows_folder, "indexing.node") if row["state"] == Node.State.SYNCED
    )
    waiting: dict[tuple[int, str], list[dict[str, Any]]] = {}
    count = 0
    for node in nodes:
        group = waiting.setdefault((node["build_id"], node["kind"]), [])
        group.append(node)
        if len(group) == VECTORS_PER_REQUEST:
            count += _dump_group(builds[node["build_id"]], group, folder, api)
            group.clear()
    for (build_id, _), group in waiting.items():
        if group:
            count += _dump_group(builds[build_id], group, folder, api)
    return count


def check_vectors(folder: Traversable, dumped_id: int, build: IndexBuild) -> None:
    """Read the vectors of a build before the first is written.

    Raises:
        ValueError, KeyError, TypeError: a line is none, or a vector is of no model of the build.
    """
    sizes = {model.dimension for model in build.spec.embedding_specs}
    for point_id, vector in _read_vectors(folder / _file_name(dumped_id)):
        if vector is not None and (vector.size not in sizes or not np.isfinite(vector).all()):
            raise ValueError(f"the vector of {point_id} is of no model of the index")


def load_vectors(folder: Traversable, builds: Mapping[int, IndexBuild]) -> int:
    """Write the points of these builds, by the ids that they were dumped with, from the loaded rows
    and the vectors of the folder. Return how many nodes must be embedded again, because their
    vector is not there or was being written."""
    nodes_of_builds = Node.objects.filter(build__in=builds.values())
    nodes_of_builds.exclude(state=Node.State.SYNCED).update(synced_input_hash="")
    count = 0
    for dumped_id, build in builds.items():
        synced = Node.objects.filter(build=build, state=Node.State.SYNCED)
        vectors = _read_vectors(folder / _file_name(dumped_id))
        while batch := dict(islice(vectors, ROWS_PER_STATEMENT)):
            found = {point_id: vector for point_id, vector in batch.items() if vector is not None}
            nodes = synced.filter(point_id__in=batch)
            write_vectors(build, nodes.filter(point_id__in=found), found)
            count += reembed_nodes(nodes.exclude(point_id__in=found))
    return count


def _dump_group(
    build: dict[str, Any], nodes: Iterable[dict[str, Any]], folder: Path, api: ApiClient
) -> int:
    hashes = {node["point_id"]: node["payload_hash"] for node in nodes}
    [kind] = {node["kind"] for node in nodes}
    path = f"indexes/{build['index_id']}/builds/{build['number']}/vectors/"
    try:
        answered = api.post(path, {"kind": kind, "ids": list(hashes)})["vectors"]
    except StrataError as error:
        if error.code not in GONE:
            raise
        answered = []
    vectors = {
        each["id"]: each["vector"]
        for each in answered
        if each["payload_hash"] == hashes[each["id"]]
    }
    with (folder / _file_name(build["id"])).open("a", encoding="ascii") as file:
        for point_id in hashes:
            file.write(json.dumps([point_id, vectors.get(point_id)]) + "\n")
    return len(vectors)


def _read_vectors(path: Traversable) -> Iterator[tuple[UUID, DenseVector | None]]:
    if not path.is_file():
        return  # no node of the build was written
    with path.open(encoding="ascii") as file:
        for line in file:
            point_id, vector = json.loads(line)
            yield UUID(point_id), None if vector is None else _decode(vector)


def _decode(vector: str) -> DenseVector:
    return np.frombuffer(base64.b64decode(vector), dtype="<f4")


def _file_name(build_id: int) -> str:
    return f"{build_id}.jsonl"
