"""Draw a page of an original, and find where a text stands on it, in a child process: somebody
waits for it."""

import base64
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from documents.exceptions import PagesBusy
from documents.parsing.document import Limits
from documents.parsing.process_pool import read_file

MAX_MARKED_CHARS = 100_000  # of a page; some ten times those of a full one
PAGE_SECONDS = 10  # to draw a page, and to wait for others that are drawn

_page_reader = threading.Semaphore()


def _free_page_reader_after_fork() -> None:
    """In a forked process: no thread that held it is there."""
    global _page_reader
    _page_reader = threading.Semaphore()


os.register_at_fork(after_in_child=_free_page_reader_after_fork)


def draw_page(original: Path, file_name: str, media_type: str, page_index: int) -> bytes:
    """A page of a PDF, or an image, in the folder of originals as WebP.

    Raises:
        PagesBusy: others are being drawn; a retry helps.
        Unparsable: the page cannot be drawn.
        OSError: the file is missing or cannot be opened.
    """
    request = {"task": "draw_page", "media_type": media_type, "page_index": page_index}
    return base64.b64decode(_read_page(original, file_name, request)["picture"])


def find_boxes(
    original: Path, file_name: str, page_index: int, text: str, start: int, end: int
) -> list[tuple[float, float, float, float]]:
    """Where ``text[start:end]`` stands on a page of a PDF in the folder of originals, whose text is
    ``text``: left, top, right and bottom of each part of a line, in shares of the page's width and
    height. Empty where the place is not certain. Raises as ``draw_page``."""
    if len(text) > MAX_MARKED_CHARS:
        return []
    request = {
        "task": "find_boxes", "page_index": page_index, "text": text, "start": start, "end": end,
    }  # fmt: skip
    return [tuple(box) for box in _read_page(original, file_name, request)["boxes"]]


def _read_page(original: Path, file_name: str, request: dict[str, Any]) -> dict[str, Any]:
    """One page at a time, which somebody waits for: it does not queue behind whole documents."""
    if not _page_reader.acquire(timeout=PAGE_SECONDS):
        raise PagesBusy
    try:
        limits = replace(Limits.from_settings(), seconds=PAGE_SECONDS)
        return read_file(original, {**request, "file_name": file_name}, limits)
    finally:
        _page_reader.release()
