"""Files of a folder, which the workers of the queue ``sources`` can read.

Hidden files and folders are left out. A symbolic link to a file inside the folder is that file;
one to a folder, or out of the folder, is not followed. The version of a file is its size and the
time of its last change; its hash decides whether the content is another one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import quote_from_bytes, unquote_to_bytes

from pydantic import field_validator

from core.text import is_text
from feeds.exceptions import EntryGone, EntryRefused, SourceUnavailable
from feeds.protocol import Fetched, Listed, SourceSettings

READ_BYTES = 1 << 20
UNDECODABLE = "bytes:"  # begins the id of a file whose name is no text


class FolderSource(SourceSettings):
    type: Literal["folder"]
    path: str

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if not PurePosixPath(path).is_absolute() or "\0" in path:
            raise ValueError(f"{path[:200]!r} is no whole path; begin it with /")
        return path

    @property
    def place(self) -> str:
        return self.path

    @contextmanager
    def open(self) -> Iterator["FolderReader"]:
        root = Path(os.path.realpath(self.path))
        if not root.is_dir():
            raise SourceUnavailable(
                "There is no such folder, or it cannot be read.",
                field="path",
                fix="Mount it, or correct path in the spec.",
            )
        yield FolderReader(self, root)


@dataclass(frozen=True, slots=True)
class FolderReader:
    source: FolderSource
    root: Path

    def list(self) -> Iterator[Listed]:
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(self.root / folder) as found:
                    for entry in found:
                        if entry.name.startswith("."):
                            continue
                        path = f"{folder}{entry.name}"
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(f"{path}/")
                        elif self.source.includes(path) and self._is_inside(entry):
                            yield _describe(path, entry.stat())
            except FileNotFoundError:
                if not folder:
                    raise SourceUnavailable("The folder went away while it was read.") from None
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise SourceUnavailable(
                    f"{folder or 'The folder'} cannot be read: {reason}.",
                    fix="Let the service read it, or exclude it.",
                ) from None

    def _is_inside(self, entry: "os.DirEntry[str]") -> bool:
        if not entry.is_file():  # a socket, or a link to nothing or to a folder
            return False
        return not entry.is_symlink() or Path(os.path.realpath(entry.path)).is_relative_to(
            self.root
        )

    def fetch(self, id: str, version: str) -> Fetched | None:
        path = _decode(id)
        whole = Path(os.path.realpath(self.root / path))
        if not whole.is_relative_to(self.root):
            raise EntryRefused(
                "The file is a symbolic link out of the folder.",
                fix="Put the file itself there, or exclude the link.",
            )
        try:
            listed = _describe(path, whole.stat())
            return None if listed.version == version else Fetched(_read(whole), listed.version)
        except (FileNotFoundError, NotADirectoryError):
            raise EntryGone from None
        except OSError as error:
            raise _make_unreadable(error) from None


def _describe(path: str, status: os.stat_result) -> Listed:
    return Listed(
        id=path if is_text(path) else f"{UNDECODABLE}{quote_from_bytes(os.fsencode(path))}",
        version=f"{status.st_size}-{status.st_mtime_ns}",
        byte_count=status.st_size,
    )


def _decode(id: str) -> str:
    if id.startswith(UNDECODABLE):
        return os.fsdecode(unquote_to_bytes(id.removeprefix(UNDECODABLE)))
    return id


def _read(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            before = os.fstat(file.fileno())
            while chunk := file.read(READ_BYTES):
                yield chunk
            after = os.fstat(file.fileno())
    except FileNotFoundError:
        raise EntryGone from None
    except OSError as error:
        raise _make_unreadable(error) from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise SourceUnavailable("The file was changed while it was read.")


def _make_unreadable(error: OSError) -> EntryRefused:
    return EntryRefused(
        f"The file cannot be read: {error.strerror or type(error).__name__}.",
        fix="Let the service read it, or exclude it.",
    )
