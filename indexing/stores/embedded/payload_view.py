"""Ids and payloads of a collection that is closed, read in little memory.

The engine opens a collection whole: it reads every vector and builds the index of the terms anew,
some kilobytes for each point, before it gives the first payload. A view is a collection of its
own over the same segments, which are described to it as having no terms and no indexes, and
vectors that stay on disk until they are asked for, which nobody does.
"""

import ctypes
import json
import mmap
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import qdrant_edge as edge

# The engine's own files, as of qdrant-edge-py 0.9: in the folder of a shard, and of a segment.
CONFIG = "edge_config.json"
SEGMENTS = "segments"
DESCRIPTION = "segment.json"
FIELD_INDEXES = "payload_index"
LEFT_OUT = (FIELD_INDEXES, "vector_index", "vector_storage-sparse")  # what folders begin with
ONLY_READ = ("page_*.dat", "chunk_*.mmap", "matrix.dat")  # the large files
IDS_OF_FINISHED = "id_tracker.mappings"  # of a segment that is written no more; else another file

# Points: by their ids they are read from all over a file, and each reading maps 64 KiB around it.
AT_ONCE = 250

# How vectors are kept -> the same files, read when they are asked for. By this the engine also
# tells a segment that is written no more, whose ids it then looks for in another place.
ON_DISK = {"InRamChunkedMmap": "ChunkedMmap", "InRamMmap": "Mmap"}
FINISHED = "Mmap"


class PayloadView:
    """What the collection in ``shard`` held when it was closed; made in ``folder``, which goes
    with it. Nothing the engine does to a view reaches the collection.

    Raises:
        OSError: the file system knows no hard links.
        ValueError: a segment is laid out in a way that is not known here.
    """

    def __init__(self, shard: Path, folder: Path) -> None:
        self._folder = folder
        try:
            for segment in (shard / SEGMENTS).iterdir():
                if (segment / DESCRIPTION).exists():
                    _view_segment(segment, folder / SEGMENTS / segment.name)
            (folder / CONFIG).write_text('{"wal_enabled": false}', encoding="utf-8")
            self._shard = edge.EdgeShard.load(str(folder))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def count(self) -> int:
        return self._shard.count(edge.CountRequest(exact=True))

    def scroll(self, offset: Any, limit: int) -> tuple[list[edge.Record], Any]:
        """The next points, not always as many, and where those after them begin."""
        request = edge.ScrollRequest(offset=offset, limit=min(limit, AT_ONCE), with_payload=True)
        try:
            return self._shard.scroll(request)
        finally:
            _release(self._folder)

    def close(self) -> None:
        try:
            self._shard.close()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _view_segment(segment: Path, view: Path) -> None:
    for path in segment.rglob("*"):
        place = path.relative_to(segment)
        if path.is_dir() or place.parts[0].startswith(LEFT_OUT):
            continue
        target = view / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if any(path.match(pattern) for pattern in ONLY_READ):
            os.link(path, target)
        else:
            shutil.copyfile(path, target)
    description = json.loads((view / DESCRIPTION).read_bytes())
    is_finished = (segment / IDS_OF_FINISHED).exists()
    description["config"] = _on_disk(description["config"], is_finished)
    (view / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
    (view / FIELD_INDEXES).mkdir()
    (view / FIELD_INDEXES / "config.json").write_text('{"indexed_fields": {}}', encoding="utf-8")


def _on_disk(config: dict[str, Any], is_finished: bool) -> dict[str, Any]:
    vectors = {}
    for name, kept in config["vector_data"].items():
        storage = ON_DISK.get(kept["storage_type"])
        if storage is None or (storage == FINISHED) != is_finished:
            raise ValueError(f"vectors kept as {kept['storage_type']} in an unknown way")
        index = {"type": "plain", "options": {}}
        vectors[name] = {**kept, "storage_type": storage, "index": index}
    if not vectors:
        raise ValueError("a segment without dense vectors")
    return {
        "vector_data": vectors,
        "sparse_vector_data": {},
        "payload_storage_type": {"type": "mmap"},
    }


def _release(folder: Path) -> None:
    """Take what this process mapped of the files in the folder out of its memory again; the next
    reading maps it anew. Elsewhere than on Linux it stays, until the view is closed."""
    if sys.platform != "linux":
        return
    prefix = f"{folder.resolve()}/"
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        addresses, modes, *_, path = line.split(maxsplit=5)
        if path.startswith(prefix) and modes.endswith("s"):
            start, end = (int(address, 16) for address in addresses.split("-"))
            _madvise(start, end - start, mmap.MADV_DONTNEED)


def _madvise(start: int, length: int, advice: int) -> None:
    call = ctypes.CDLL(None).madvise
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    call(start, length, advice)
