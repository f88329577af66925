"""Writes the files of a form to the data folder as they arrive, so that they are written once."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler

from documents.originals import FileContent, IncomingFile


class ReceivedFile(UploadedFile):
    """A file of a form. Django closes it when the request ends, which deletes it."""

    def __init__(self, incoming: IncomingFile, content_type: str | None) -> None:
        super().__init__(
            name=incoming.name, content_type=content_type or "", size=incoming.byte_count
        )
        self._incoming = incoming

    def finish(self) -> FileContent:
        """The whole file; on return it survives a power cut."""
        return self._incoming.finish()

    def close(self) -> None:
        self._incoming.discard()


class IncomingFileHandler(FileUploadHandler):
    """Errors of ``IncomingFile`` end the request."""

    incoming: IncomingFile | None = None

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.incoming = IncomingFile(self.file_name or "")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self.incoming is not None
        self.incoming.write(raw_data)

    def file_complete(self, file_size: int) -> ReceivedFile:
        incoming, self.incoming = self.incoming, None
        assert incoming is not None
        return ReceivedFile(incoming, self.content_type)

    def upload_interrupted(self) -> None:
        if self.incoming is not None:
            self.incoming.discard()
