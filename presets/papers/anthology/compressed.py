"""Open files that may be gzipped."""

import gzip
import zlib
from pathlib import Path
from typing import IO, Final

# Raised when a missing, truncated or damaged file is read.
READ_ERRORS: Final = (OSError, EOFError, zlib.error)


def open_decompressed(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressing it if its name ends with ``.gz``."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")
