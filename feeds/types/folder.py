"""Files of a folder, which the workers of the queue ``sources`` can read.

Hidden files and folders are left out, as is the data folder of Strata. A symbolic link to a file
inside the folder is that file; one to a folder, or out of the folder, is not followed. The version
of a file is its size and the time of its last change; its hash decides whether the content is
another one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Literal
from urllib.parse import quote_from_bytes, unquote_to_bytes

from django.conf import settings
from pydantic import field_validator

from core.text import clean_text, is_text
from feeds.exceptions import EntryGone, EntryRefused, ListingRefused, SourceUnavailable
from feeds.protocol import Fetched, Listed, SourceSettings

READ_BYTES = 1 << 20
UNDECODABLE = "bytes:"  # begins the id of a file whose name is no text, or begins so


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
        own_folder = Path(os.path.realpath(settings.STRATA_DATA_DIR))
        if root.is_relative_to(own_folder):
            raise ListingRefused(
                "The folder is in the data folder of Strata.",
                field="path",
                fix="Name a folder outside it.",
            )
        yield FolderReader(self, root, own_folder)


@dataclass(frozen=True, slots=True)
class FolderReader:
    """``own_folder``: that of Strata's data. It holds keys, and a copy of each file that was
    read."""

    source: FolderSource
    root: Path
    own_folder: Path

    def list(self) -> Iterator[Listed]:
        began_at = _identify(self.root)
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
                            if self.root / path != self.own_folder:
                                folders.append(f"{path}/")
                        elif self.source.includes(path) and (listed := self._list(path, entry)):
                            yield listed
            except FileNotFoundError:
                continue  # deleted meanwhile
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise SourceUnavailable(
                    f"{clean_text(folder) or 'The folder'} cannot be read: {reason}.",
                    fix="Let the service read it, or exclude it.",
                ) from None
        if _identify(self.root) != began_at:  # such as a disk that was unmounted meanwhile
            raise SourceUnavailable("The folder went away while it was read.")

    def _list(self, path: str, entry: "os.DirEntry[str]") -> Listed | None:
        try:
            if not entry.is_file():  # a socket, or a link to nothing or to a folder
                return None
            if entry.is_symlink() and not self._holds(Path(os.path.realpath(entry.path))):
                return None
            return _describe(path, entry.stat())
        except FileNotFoundError:
            return None  # deleted meanwhile; the others of its folder are listed all the same

    def _holds(self, whole: Path) -> bool:
        return whole.is_relative_to(self.root) and not whole.is_relative_to(self.own_folder)

    def fetch(self, id: str, version: str) -> Fetched | None:
        path = _decode(id)
        whole = Path(os.path.realpath(self.root / path))
        if not self._holds(whole):
            raise EntryRefused(
                "The file is a symbolic link out of the folder.",
                fix="Put the file itself there, or exclude the link.",
            )
        try:
            status = whole.stat()
            if not S_ISREG(status.st_mode):  # opening a pipe would wait for its writer
                raise EntryGone
            listed = _describe(path, status)
            return None if listed.version == version else Fetched(_read(whole), listed.version)
        except (FileNotFoundError, NotADirectoryError):
            raise EntryGone from None
        except OSError as error:
            raise _make_unreadable(error) from None


def _identify(folder: Path) -> tuple[int, int] | None:
    """The same as long as it is the same folder of the same disk."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _describe(path: str, status: os.stat_result) -> Listed:
    is_readable = is_text(path) and not path.startswith(UNDECODABLE)
    return Listed(
        id=path if is_readable else f"{UNDECODABLE}{quote_from_bytes(os.fsencode(path))}",
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
        raise EntryRefused("The file was changed while it was read.", fix="It is tried again.")


def _make_unreadable(error: OSError) -> EntryRefused:
    return EntryRefused(
        f"The file cannot be read: {error.strerror or type(error).__name__}.",
        fix="Let the service read it, or exclude it.",
    )
