"""Read a whole file in a child process; one that no reader takes is converted first."""

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from documents.exceptions import Unparsable
from documents.parsing import ocr, office
from documents.parsing.added_readers import DOCLING_SERVE, find_added_reader, strip_label
from documents.parsing.document import (
    FileReceiver,
    Limits,
    ParsedDocument,
    ParsedPage,
    ParseWarning,
    UnseenText,
)
from documents.parsing.formats import guess_media_type
from documents.parsing.process_pool import get_reader_slots, make_timeout_error, read_file


def parse_file(
    path: Path,
    *,
    file_name: str,
    takes_images: bool = False,
    ocr_languages: Sequence[str] = (),
    limits: Limits | None = None,
    recognised: Path | None = None,
    receive: FileReceiver | None = None,
    report_page: Callable[[int, int], object] | None = None,
) -> ParsedDocument:
    """Read a file in a child process; safe to call from many threads at once.

    Args:
        path: where the bytes are.
        file_name: the user's name for it; only its suffix is used, to choose the format.
        takes_images: whether pictures are read as well, into one page without text.
        ocr_languages: of the pictures of text in the file.
        limits: the settings' by default. Each page that OCR reads has the time of a file.
        recognised: keeps each page that OCR reads, so that none is read again after a kill; a file
            in the folder of originals, which the caller deletes.
        receive: gets the files in the file, if they are to be documents of their own; an error that
            it raises ends the reading.
        report_page: called after each page that OCR reads, with how many pages are read of how
            many. If it raises, the file is not read to its end.

    Raises:
        Unparsable: the file cannot be read and a retry does not help; ``code`` says why, such as
            ``parse_timeout``, ``parse_memory`` and ``parser_crashed``.
        ReaderUnavailable: docling-serve, which reads such files, does not answer; a retry helps.
        OSError: the file is missing or cannot be opened; a retry may help.
    """
    reader = find_added_reader(file_name)
    request = {
        "task": "parse",
        "file_name": file_name,
        "takes_images": takes_images,
        # None: OCR of these languages is not installed.
        "ocr_languages": None if ocr.list_missing(ocr_languages) else list(ocr_languages),
        "recognised": recognised and str(recognised),
        "takes_files": receive is not None,
        "reader": reader,
    }
    limits = limits or Limits.from_settings()
    if strip_label(reader) == DOCLING_SERVE:
        reply = _read_by_docling_serve(path, request, limits)
    else:
        with get_reader_slots():
            try:
                reply = read_file(path, request, limits, receive, report_page)
            except Unparsable as error:
                if error.code != "needs_libreoffice" or not office.is_installed():
                    raise
                reply = _read_converted(path, request, limits)
    document = reply["document"]
    document["pages"] = tuple(_restore_page(page) for page in document["pages"])
    document["warnings"] = tuple(_restore_warning(each) for each in document["warnings"])
    return ParsedDocument(**document)


def _restore_warning(warning: dict[str, Any]) -> ParseWarning:
    return ParseWarning(**{**warning, "page_indexes": tuple(warning["page_indexes"])})


def _restore_page(page: dict[str, Any]) -> ParsedPage:
    return ParsedPage(**{**page, "unseen": tuple(UnseenText(*each) for each in page["unseen"])})


def _read_by_docling_serve(path: Path, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    from documents.parsing import docling_serve  # a child has no use for it

    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        docling_serve.convert(path, Path(request["file_name"]).suffix.lower(), answer)
        with get_reader_slots():
            return read_file(answer, request, limits)


def _read_converted(path: Path, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        suffix = Path(request["file_name"]).suffix.lower()
        try:
            converted = office.convert(path, suffix, Path(folder), limits)
        except subprocess.TimeoutExpired:
            raise make_timeout_error(limits) from None
        reply = read_file(converted, {**request, "file_name": converted.name}, limits)
    reply["document"]["media_type"] = guess_media_type(request["file_name"])
    return reply
