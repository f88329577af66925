"""Store original files unchanged, one for each artifact that was given as a file.

A file is first written to disk under a temporary name, as it arrives, and stored under its
artifact's name inside the transaction that adds the artifact, so two uploads never delete each
other's file.
"""

import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler
from django.db import transaction

from core.exceptions import DiskFull, TooLarge
from core.text import clean_name
from documents.exceptions import OriginalsUnavailable, Unparsable
from documents.models import Artifact, RemovedOriginal
from documents.parsing import MAX_FILES, Limits
from documents.storage import get_storage

logger = logging.getLogger(__name__)

READ_BYTES = 1 << 20
ABANDONED_SECONDS = 86_400  # an incoming file this old was left by a killed process


@dataclass(frozen=True, slots=True)
class FileContent:
    """A received file that is not stored as an original yet."""

    file_name: str
    sha256: str
    byte_count: int
    path: Path

    def discard(self) -> None:
        """Delete the incoming copy; an artifact that uses the file has its own."""
        self.path.unlink(missing_ok=True)


class IncomingFile:
    """A file that is written to the data folder while it is received. Of a form, Django closes it
    when the request ends, which deletes it.

    Raises:
        DiskFull: writing it would leave less than ``STRATA_MIN_FREE_BYTES``.
        TooLarge: it is larger than an upload may be.
    """

    def __init__(self, file_name: str) -> None:
        self.name = clean_name(Path(file_name).name)[:500]
        self.size = 0  # in bytes
        self._digest = hashlib.sha256()
        self._folder = Path(settings.STRATA_FILES_DIR)
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor, path = tempfile.mkstemp(dir=self._folder, prefix="incoming-")
        self.path = Path(path)
        self._file = os.fdopen(descriptor, "wb")

    @contextmanager
    def discarded_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def write(self, chunk: bytes) -> None:
        """Add a chunk; an error discards the file."""
        with self.discarded_on_error():
            require_free_disk(self._folder, len(chunk))
            self.size += len(chunk)
            if self.size > settings.STRATA_MAX_UPLOAD_BYTES:
                raise make_too_large("file")
            self._digest.update(chunk)
            self._file.write(chunk)

    def finish(self) -> FileContent:
        """The whole file; on return it survives a power cut."""
        with self.discarded_on_error():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        return FileContent(self.name, self._digest.hexdigest(), self.size, self.path)

    def discard(self) -> None:
        """Delete it; an artifact that uses the file has its own."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # what could not be written is not needed
            self._file.close()

    close = discard


def make_too_large(field: str) -> TooLarge:
    return TooLarge(
        f"The file is larger than {settings.STRATA_MAX_UPLOAD_BYTES // 2**20} MiB.",
        field=field,
        fix="Split it, or raise STRATA_MAX_UPLOAD_BYTES.",
    )


class IncomingFileHandler(FileUploadHandler):
    """Receives the files of forms. Errors of ``IncomingFile`` end the request."""

    incoming: IncomingFile | None = None

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.incoming = IncomingFile(self.file_name or "")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self.incoming is not None
        self.incoming.write(raw_data)

    def file_complete(self, file_size: int) -> IncomingFile:  # type: ignore[override]
        incoming, self.incoming = self.incoming, None
        assert incoming is not None
        return incoming

    def upload_interrupted(self) -> None:
        if self.incoming is not None:
            self.incoming.discard()


class IncomingParts:
    """The files of a ZIP or an e-mail while it is read; all are deleted when the block ends."""

    def __init__(self) -> None:
        self._files: list[tuple[str, FileContent]] = []
        self._remaining_bytes = Limits.from_settings().max_expanded_bytes
        self._name = ""
        self._incoming: IncomingFile | None = None

    def receive(self, name: str, block: bytes) -> None:
        """A block of a file; an empty one begins it.

        Raises:
            Unparsable: they are too many or too large. The process that sends them reads hostile
                files, so that its own checks do not count here.
            DiskFull, TooLarge: as ``IncomingFile``.
        """
        if not block:
            self.finish()
            self._name, self._incoming = name, IncomingFile(name)
        self._remaining_bytes -= len(block)
        if self._remaining_bytes < 0 or len(self._files) >= MAX_FILES or self._incoming is None:
            raise Unparsable("too_large", "The files in it are too many or too large.")
        self._incoming.write(block)

    def finish(self) -> list[tuple[str, FileContent]]:
        """Complete the last file, and return all with their names."""
        if self._incoming is not None:
            self._files.append((self._name, self._incoming.finish()))
            self._incoming = None
        return self._files

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._incoming is not None:
            self._incoming.discard()
        for _, content in self._files:
            content.discard()


def save_incoming_file(file_name: str, chunks: Iterable[bytes]) -> FileContent:
    """Write a file to the data folder; raises as ``IncomingFile``."""
    incoming = IncomingFile(file_name)
    with incoming.discarded_on_error():  # also if the chunks cannot be read to their end
        for chunk in chunks:
            incoming.write(chunk)
    return incoming.finish()


def get_recognised_pages_path(artifact: Artifact) -> Path:
    """Pages of the original that OCR has read, until all are read; on this machine."""
    name = Path(artifact.original_name).name
    return Path(settings.STRATA_FILES_DIR) / f"{name}.ocr"


def delete_original_on_commit(artifact: Artifact) -> None:
    """Delete this original after the commit, unless another request has given the same file again
    by then. While the storage is away, the row waits. The caller has locked the artifact."""
    removed, _ = RemovedOriginal.objects.get_or_create(
        name=artifact.original_name, defaults={"artifact_id": artifact.pk}
    )
    get_recognised_pages_path(artifact).unlink(missing_ok=True)

    def delete() -> None:
        _delete_removed(removed)

    transaction.on_commit(delete, robust=True)


def delete_removed_originals() -> None:
    """Delete the originals that could not be deleted before, until one cannot again."""
    for removed in RemovedOriginal.objects.iterator():
        if not _delete_removed(removed):
            return


def _delete_removed(removed: RemovedOriginal) -> bool:
    """Return whether the storage answered."""
    try:
        with transaction.atomic():
            artifacts = Artifact.objects.select_for_update().filter(pk=removed.artifact_id)
            current = artifacts.filter(has_file=True).exclude(error_code="infected_file").first()
            if current is None or current.original_name != removed.name:
                get_storage().delete(removed.name)
            RemovedOriginal.objects.filter(pk=removed.pk).delete()
    except (OSError, OriginalsUnavailable) as error:
        logger.warning("The original %s is not deleted yet: %s", removed.name, error)
        return False
    return True


def delete_abandoned_files() -> int:
    """Delete incoming files and folders of readers that a killed process left behind, and pages
    read by OCR of files that were never read to their end; return how many."""
    oldest = time.time() - ABANDONED_SECONDS
    abandoned = [
        path
        for pattern in ("incoming-*", "reading-*", "**/*.ocr")
        for path in Path(settings.STRATA_FILES_DIR).glob(pattern)
        if path.stat().st_mtime < oldest
    ]
    for path in abandoned:
        if path.is_dir():  # of a process that read files
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return len(abandoned)


def require_free_disk(folder: Path, byte_count: int) -> None:
    """Raise ``DiskFull`` if ``byte_count`` more would leave less than ``STRATA_MIN_FREE_BYTES``."""
    free = shutil.disk_usage(folder if folder.exists() else folder.parent).free
    if free - byte_count < settings.STRATA_MIN_FREE_BYTES:
        raise DiskFull(
            f"Only {free // 2**20} MiB of disk are free, and "
            f"{settings.STRATA_MIN_FREE_BYTES // 2**20} MiB are kept in reserve.",
            fix="Free some space in the data folder's file system; stored documents are kept.",
        )
