"""Open files that may be gzipped."""

import gzip
import zlib
from pathlib import Path
from typing import IO, Final

# What reading a missing, truncated or damaged file raises.
READ_ERRORS: Final = (OSError, EOFError, zlib.error)


def open_decompressed(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressing it if its name ends with ``.gz``."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")
