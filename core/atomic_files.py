"""Writes files in one step: readers see the old content or the new, however the writer ends."""

import os
import tempfile
from pathlib import Path


def fsync(path: Path) -> None:
    """Flush a file or folder to disk: that of a folder lets renames in it survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Replace a file, or write a new one, that everybody may read by default."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink()
        raise
