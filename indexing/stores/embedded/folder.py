"""The store's folder on disk: its lock, and the files that Strata, not the engine, writes."""

import errno
import fcntl
import json
import os
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from core.atomic_files import fsync
from indexing.exceptions import StoreLocked
from indexing.stores.base import CollectionSchema

LOCK_NAME = ".lock"


def lock_folder(folder: Path) -> int:
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
            raise
        raise StoreLocked(
            "Another process owns the embedded vector store.",
            fix="Stop the server that uses this data folder, or send the request to it.",
        ) from None
    return descriptor


def to_folder_name(name: str) -> str:
    """Escape characters of a collection's name that some file systems do not distinguish."""

    def escape(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02x}" for byte in match[0].encode())

    return re.sub(r"^\.|[^a-z0-9_.-]", escape, name)


def schema_path(folder: Path) -> Path:
    return folder / "collection.json"


def read_schema(folder: Path) -> tuple[CollectionSchema, str]:
    """The schema of a collection, and the name of the folder with the engine's files."""
    content = json.loads(schema_path(folder).read_text(encoding="utf-8"))
    shard_name = content.pop("shard", "shard")
    return CollectionSchema(**content), shard_name


def write_schema(folder: Path, schema: CollectionSchema, shard_name: str) -> None:
    content = asdict(replace(schema, fields=dict(schema.fields)))
    write_json_atomically(schema_path(folder), content | {"shard": shard_name})


def write_json_atomically(path: Path, content: dict[str, Any]) -> None:
    """Write the file so that after a crash it is complete or unchanged."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(json.dumps(content, indent=2), encoding="utf-8")
    fsync(draft)
    draft.replace(path)
    fsync(path.parent)
