"""Read the ids and payloads of a closed collection without loading its vectors.

To open a collection, the engine reads every vector and rebuilds the index of terms, which takes
some kilobytes for each point, before it returns the first payload. A view is a separate collection
over the same segments. Its configuration describes them as segments without terms and indexes,
whose vectors stay on disk; nothing reads these.
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
SHARD_CONFIG_FILE = "edge_config.json"
SEGMENTS_FOLDER = "segments"
SEGMENT_FILE = "segment.json"
FIELD_INDEX_FOLDER = "payload_index"
SKIPPED_FOLDER_PREFIXES = (
    FIELD_INDEX_FOLDER,
    "vector_index",
    "vector_storage-sparse",
)  # of folder names
LINKED_FILE_PATTERNS = ("page_*.dat", "chunk_*.mmap", "matrix.dat")  # the large files
FINISHED_SEGMENT_IDS_FILE = "id_tracker.mappings"  # in a segment that is no longer written

# Points. In the order of ids they are spread over a file, and each read maps 64 KiB around one.
MAX_SCROLL_POINTS = 250

# Storage type of vectors -> the type that reads the same files on demand. By this type the engine
# also recognises a segment that is no longer written, and looks for its ids in another file.
ON_DISK_STORAGE_TYPES = {"InRamChunkedMmap": "ChunkedMmap", "InRamMmap": "Mmap"}
FINISHED_STORAGE_TYPE = "Mmap"


class PayloadView:
    """A view of the closed collection in ``shard``, made of links and copies in ``folder``, which
    ``close`` deletes. Changes that the engine makes to a view do not affect the collection.

    Raises:
        OSError: the file system does not support hard links.
        ValueError: a segment has an unknown layout.
    """

    def __init__(self, shard: Path, folder: Path) -> None:
        self._folder = folder
        try:
            for segment in (shard / SEGMENTS_FOLDER).iterdir():
                if (segment / SEGMENT_FILE).exists():
                    _link_segment(segment, folder / SEGMENTS_FOLDER / segment.name)
            (folder / SHARD_CONFIG_FILE).write_text('{"wal_enabled": false}', encoding="utf-8")
            self._shard = edge.EdgeShard.load(str(folder))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def count(self) -> int:
        return self._shard.count(edge.CountRequest(exact=True))

    def scroll(self, offset: Any, limit: int) -> tuple[list[edge.Record], Any]:
        """Return at most ``limit`` points and the offset of the next ones."""
        request = edge.ScrollRequest(
            offset=offset, limit=min(limit, MAX_SCROLL_POINTS), with_payload=True
        )
        try:
            return self._shard.scroll(request)
        finally:
            _release_mapped_memory(self._folder)

    def close(self) -> None:
        try:
            self._shard.close()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _link_segment(segment: Path, view: Path) -> None:
    for path in segment.rglob("*"):
        relative_path = path.relative_to(segment)
        if path.is_dir() or relative_path.parts[0].startswith(SKIPPED_FOLDER_PREFIXES):
            continue
        target = view / relative_path
        target.parent.mkdir(parents=True, exist_ok=True)
        if any(path.match(pattern) for pattern in LINKED_FILE_PATTERNS):
            os.link(path, target)
        else:
            shutil.copyfile(path, target)
    description = json.loads((view / SEGMENT_FILE).read_bytes())
    is_finished = (segment / FINISHED_SEGMENT_IDS_FILE).exists()
    description["config"] = _to_on_disk_config(description["config"], is_finished)
    (view / SEGMENT_FILE).write_text(json.dumps(description), encoding="utf-8")
    (view / FIELD_INDEX_FOLDER).mkdir()
    (view / FIELD_INDEX_FOLDER / "config.json").write_text(
        '{"indexed_fields": {}}', encoding="utf-8"
    )


def _to_on_disk_config(config: dict[str, Any], is_finished: bool) -> dict[str, Any]:
    vectors = {}
    for name, vector_config in config["vector_data"].items():
        storage = ON_DISK_STORAGE_TYPES.get(vector_config["storage_type"])
        if storage is None or (storage == FINISHED_STORAGE_TYPE) != is_finished:
            raise ValueError(f"vectors kept as {vector_config['storage_type']} in an unknown way")
        index = {"type": "plain", "options": {}}
        vectors[name] = {**vector_config, "storage_type": storage, "index": index}
    if not vectors:
        raise ValueError("a segment without dense vectors")
    return {
        "vector_data": vectors,
        "sparse_vector_data": {},
        "payload_storage_type": {"type": "mmap"},
    }


def _release_mapped_memory(folder: Path) -> None:
    """Release the memory that this process mapped from files in the folder; the next read maps it
    again. On systems other than Linux it stays mapped until the view is closed."""
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
