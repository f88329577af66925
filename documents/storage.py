"""Where originals are stored: in a folder, or in S3 if ``STRATA_S3_BUCKET`` is set."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from core.atomic_files import fsync
from documents.exceptions import OriginalsUnavailable

if TYPE_CHECKING:
    from documents.s3_storage import S3Storage


class FolderStorage:
    """``S3Storage`` has the same methods. All raise ``OriginalsUnavailable`` if the storage does
    not answer."""

    def add(self, name: str, file: Path) -> None:
        """Link or copy the file; on return the original survives a power cut."""
        path = self._path(name)
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)  # left by an attempt that was rolled back
        os.link(file, path)
        fsync(path.parent)  # the file's name is stored in the folder

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """The path of the original in ``STRATA_FILES_DIR`` while the block runs. If there is none,
        reading it or entering the block raises ``FileNotFoundError``."""
        try:
            yield self._path(name)
        except FileNotFoundError:
            self.check()
            raise

    def delete(self, name: str) -> None:
        """Delete the original, if there is one."""
        self._path(name).unlink(missing_ok=True)

    def check(self) -> None:
        """Return if the storage answers."""
        if not Path(settings.STRATA_FILES_DIR).is_dir():
            raise OriginalsUnavailable(
                "The folder of the original files is away.",
                fix="Mount the data folder again; what waits for it is then read.",
            )

    def _path(self, name: str) -> Path:
        return Path(settings.STRATA_FILES_DIR) / name


def get_storage() -> "FolderStorage | S3Storage":
    if not settings.STRATA_S3_BUCKET:
        return FolderStorage()
    from documents.s3_storage import open_bucket  # its libraries are optional

    return open_bucket(settings.STRATA_S3_BUCKET, settings.STRATA_S3_ENDPOINT)
