"""Where originals are stored: in a folder, or in S3 if ``STRATA_S3_BUCKET`` is set."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

from django.conf import settings

from documents.exceptions import OriginalsUnavailable


class OriginalStorage(Protocol):
    """All methods raise ``OriginalsUnavailable`` if the storage does not answer."""

    def add(self, name: str, file: Path) -> None:
        """Store a copy of the file, or a link to it; on return it survives a power cut."""

    def local(self, name: str) -> AbstractContextManager[Path]:
        """The path of the original in ``STRATA_FILES_DIR`` while the block runs; reading it, or
        entering the block, raises ``FileNotFoundError`` if there is none."""

    def delete(self, name: str) -> None:
        """Delete the original, if there is one."""

    def check(self) -> None:
        """Return if the storage answers."""


class FolderStorage:
    def add(self, name: str, file: Path) -> None:
        path = self._path(name)
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)  # left by an attempt that was rolled back
        os.link(file, path)
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # the file's name is stored in the folder
        finally:
            os.close(descriptor)

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        try:
            yield self._path(name)
        except FileNotFoundError:
            self.check()
            raise

    def delete(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def check(self) -> None:
        if not Path(settings.STRATA_FILES_DIR).is_dir():
            raise OriginalsUnavailable(
                "The folder of the original files is away.",
                fix="Mount the data folder again; what waits for it is then read.",
            )

    def _path(self, name: str) -> Path:
        return Path(settings.STRATA_FILES_DIR) / name


def get_storage() -> OriginalStorage:
    if not settings.STRATA_S3_BUCKET:
        return FolderStorage()
    return _load_s3(settings.STRATA_S3_BUCKET, settings.STRATA_S3_ENDPOINT)


@cache
def _load_s3(bucket: str, endpoint: str) -> OriginalStorage:
    from documents.s3_storage import S3Storage  # its libraries are optional

    return S3Storage(bucket, endpoint)
