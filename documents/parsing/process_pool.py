"""A pool of child processes that read files; a child is discarded after any failure. Only as many
read at once as the memory allows; other threads wait.

Children are started as new programs, never forked: the embedded engine does not survive a ``fork``.
"""

import atexit
import base64
import json
import logging
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from core.memory import read_memory_limit
from documents.exceptions import PagesBusy, Unparsable
from documents.parsing import ocr, office
from documents.parsing.added_readers import DOCLING_SERVE, find_added_reader, strip_label
from documents.parsing.document import (
    FileReceiver,
    Limits,
    ParsedDocument,
    ParsedPage,
    ParseWarning,
    make_memory_error,
)
from documents.parsing.formats import guess_media_type

logger = logging.getLogger(__name__)

MAX_IDLE_CHILDREN = 4  # idle children that are kept; each takes about 60 MB
# Children must not see the service's secrets.
_PASSED_ENV_VARS = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "DOCLING_ARTIFACTS_PATH",
)
_ROOT = Path(__file__).resolve().parents[2]
_BYTES_PER_CHAR = 6  # at most, in JSON

# What a built-in reader may take of the memory itself, whose limit is one of addresses, which some
# libraries reserve by the gigabyte. The largest seen: 0.3 GB for a PDF of 3 MB.
BASE_BYTES = 384 * 2**20
BYTES_PER_BYTE = 100  # of the file
OCR_BYTES = 2**30  # more, where OCR is installed
MEMORY_CHECK_SECONDS = 0.1

MAX_MARKED_CHARS = 100_000  # of a page; some ten times those of a full one
PAGE_SECONDS = 10  # to draw a page, and to wait for others that are drawn

_idle: deque["_ChildProcess"] = deque()
_page_reader = threading.Semaphore()


class _ChildExited(Exception):
    """The child ended without an answer."""

    def __init__(self, return_code: int) -> None:
        super().__init__(return_code)
        self.return_code = return_code


class _OutOfMemory(Exception):
    """The child takes more memory than it may for the file."""


def parse_file(
    path: Path,
    *,
    file_name: str,
    takes_images: bool = False,
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
        "recognised": recognised and str(recognised),
        "takes_files": receive is not None,
        "reader": reader,
    }
    limits = limits or Limits.from_settings()
    if strip_label(reader) == DOCLING_SERVE:
        reply = _read_by_docling_serve(path, request, limits)
    else:
        with _readers():
            try:
                reply = _read_file(path, request, limits, receive, report_page)
            except Unparsable as error:
                if error.code != "needs_libreoffice" or not office.is_installed():
                    raise
                reply = _read_converted(path, request, limits)
    document = reply["document"]
    document["pages"] = tuple(ParsedPage(**page) for page in document["pages"])
    document["warnings"] = tuple(ParseWarning(**warning) for warning in document["warnings"])
    return ParsedDocument(**document)


def _read_by_docling_serve(path: Path, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    from documents.parsing import docling_serve  # a child has no use for it

    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        docling_serve.convert(path, Path(request["file_name"]).suffix.lower(), answer)
        with _readers():
            return _read_file(answer, request, limits)


def _read_converted(path: Path, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        suffix = Path(request["file_name"]).suffix.lower()
        try:
            converted = office.convert(path, suffix, Path(folder), limits)
        except subprocess.TimeoutExpired:
            raise _timeout_error(limits) from None
        reply = _read_file(converted, {**request, "file_name": converted.name}, limits)
    reply["document"]["media_type"] = guess_media_type(request["file_name"])
    return reply


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
        return _read_file(original, {**request, "file_name": file_name}, limits)
    finally:
        _page_reader.release()


def read_confinement() -> list[str]:
    """How a child is confined; see ``documents.parsing.confinement``."""
    limits = Limits.from_settings()
    request = {"task": "confinement", "limits": asdict(limits)}
    with _readers():
        confinement: list[str] = _request_reply(request, limits, None)["confinement"]
    return confinement


def close_child_processes() -> None:
    """End the idle child processes; new ones start when needed."""
    while _idle:
        _idle.pop().close()


def count_readers() -> int:
    """How many children may read whole files at once in this process: those that half of the memory
    has room for, at most one for each core, and at least one; or ``STRATA_PARSE_PROCESSES``."""
    from django.conf import settings  # a child, which imports this module too, needs no Django

    if settings.STRATA_PARSE_PROCESSES > 0:
        count: int = settings.STRATA_PARSE_PROCESSES
        return count
    room = read_memory_limit() // 2 // Limits.from_settings().memory_bytes
    return max(1, min(room, os.cpu_count() or 1))


@cache
def _readers() -> threading.Semaphore:
    return threading.Semaphore(count_readers())


def _clear_pool_after_fork() -> None:
    """In a forked process: the children belong to the parent, so their pipes must not be used."""
    global _page_reader
    _idle.clear()
    _readers.cache_clear()
    _page_reader = threading.Semaphore()


atexit.register(close_child_processes)
os.register_at_fork(after_in_child=_clear_pool_after_fork)


def _read_file(
    path: Path,
    request: dict[str, Any],
    limits: Limits,
    receive: FileReceiver | None = None,
    report_page: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """A child's reply about a file; raises as ``parse_file``."""
    path = path.resolve()
    request = {**request, "path": str(path), "limits": asdict(limits)}
    if not request.get("reader"):  # others' may load large models
        limits = replace(limits, memory_bytes=_find_memory_limit(path, limits))
    reply = _request_reply(request, limits, receive, report_page)
    if "os_error" in reply:
        raise OSError(*reply["os_error"], str(path))
    if "error" in reply:
        error = reply["error"]
        raise Unparsable(error["code"], error["detail"], fix=error["fix"])
    return reply


def _find_memory_limit(path: Path, limits: Limits) -> int:
    """A small file that takes much memory was made to."""
    room = BASE_BYTES + BYTES_PER_BYTE * path.stat().st_size
    return min(room + (OCR_BYTES if ocr.is_installed() else 0), limits.memory_bytes)


def _request_reply(
    request: dict[str, Any],
    limits: Limits,
    receive: FileReceiver | None = None,
    report_page: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """A child's reply; ``Unparsable`` if the child crashed or timed out."""
    while True:
        child, is_fresh = _acquire_child()
        is_reusable = False
        try:
            reply = child.send_request(child.show_files(request), limits)
            while "recognised" in reply or "file" in reply:
                if receive is not None and "file" in reply:
                    receive(reply["file"], base64.b64decode(reply["block"]))
                elif "recognised" in reply and request["recognised"]:
                    with Path(request["recognised"]).open("a", encoding="utf-8") as pages:
                        pages.write("\n" + json.dumps(reply["recognised"]))
                if report_page is not None and "recognised" in reply:
                    report_page(reply["recognised"]["index"] + 1, reply["page_count"])
                reply = child.receive_reply(limits)
            is_reusable = not reply["is_last"]
            return reply
        except TimeoutError:
            raise _timeout_error(limits) from None
        except _OutOfMemory:
            raise make_memory_error() from None
        except _ChildExited as ended:
            if ended.return_code == 0 and not is_fresh:
                continue  # the idle child had just ended
            if ended.return_code == -signal.SIGXCPU:
                raise _timeout_error(limits) from None
            raise Unparsable(
                "parser_crashed",
                "The reader crashed on this file; the file may be damaged or too complex.",
                fix="Save or export it again, or split it.",
            ) from None
        finally:
            child.hide_files()
            child.log_stderr()
            if is_reusable and len(_idle) < MAX_IDLE_CHILDREN:
                _idle.append(child)
            else:
                child.close()


def _acquire_child() -> tuple["_ChildProcess", bool]:
    while True:
        try:
            child = _idle.pop()
        except IndexError:
            return _ChildProcess(_choose_place()), True
        is_in_place = child.folder.is_dir() and child.folder.parent == _choose_place()
        if child.is_alive() and is_in_place:
            return child, False
        child.close()


def _choose_place() -> Path:
    """Where the children have their folders: beside the originals, so that these can be linked."""
    from django.conf import settings  # a child, which imports this module too, needs no Django

    files = Path(settings.STRATA_FILES_DIR)
    return (files if files.is_dir() else Path(tempfile.gettempdir())).resolve()


def _timeout_error(limits: Limits) -> Unparsable:
    return Unparsable(
        "parse_timeout",
        f"Reading the file takes longer than the {limits.seconds:g} seconds allowed.",
        fix="Split it into several files.",
    )


class _ChildProcess:
    """It can read one folder of its own, in which the parent puts the file that it is to read."""

    def __init__(self, place: Path) -> None:
        # What a killed process leaves is deleted as abandoned incoming files are.
        self.folder = Path(tempfile.mkdtemp(dir=place, prefix="reading-"))
        # A file, not a pipe: it need not be read while waiting for the reply.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [
                *(sys.executable, "-X", "utf8", "-W", "ignore"),
                *("-m", "documents.parsing.child_process"),
                str(self.folder),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            cwd=_ROOT,  # where ``-m`` looks first
            env={name: os.environ[name] for name in _PASSED_ENV_VARS if name in os.environ},
            process_group=0,
        )

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def show_files(self, request: dict[str, Any]) -> dict[str, Any]:
        """Link or copy the request's files to the child's folder; the request with these paths.
        Raises ``OSError``: the file is missing or cannot be read."""
        shown = dict(request)
        for name in ("path", "recognised"):
            if not request.get(name):
                continue
            file, copy = Path(request[name]), self.folder / name
            shown[name] = str(copy)
            try:
                os.link(file, copy)
            except FileNotFoundError:
                if name == "path":
                    raise
            except OSError:  # another file system, or one without links
                shutil.copyfile(file, copy)
        return shown

    def hide_files(self) -> None:
        for name in ("path", "recognised"):
            (self.folder / name).unlink(missing_ok=True)

    def send_request(self, request: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """Send a request and return the first reply; raises as ``receive_reply``."""
        assert self._process.stdin is not None
        self._memory_before = self._read_memory()  # of files that it has read before
        try:
            self._process.stdin.write(
                json.dumps(request).encode() + b"\n"
            )  # never waits long: a thread of the child reads at once
        except BrokenPipeError:
            raise _ChildExited(self._process.wait()) from None
        return self.receive_reply(limits)

    def receive_reply(self, limits: Limits) -> dict[str, Any]:
        """After ``_ChildExited``, ``_OutOfMemory`` or ``TimeoutError`` the child must be closed."""
        deadline = time.monotonic() + limits.seconds
        length = int.from_bytes(self._receive(8, deadline, limits.memory_bytes), "big")
        if length > limits.max_text_chars * _BYTES_PER_CHAR + limits.max_pages * 4096 + 2**20:
            raise _ChildExited(-signal.SIGABRT)  # a valid reply is never that long
        reply = json.loads(self._receive(length, deadline, limits.memory_bytes))
        if not isinstance(reply, dict):
            raise _ChildExited(-signal.SIGABRT)
        return reply

    def _receive(self, length: int, deadline: float, memory_bytes: int) -> bytes:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        poll = select.poll()  # unlike select, has no highest descriptor
        poll.register(fd, select.POLLIN)
        data = bytearray()
        while len(data) < length:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            if not poll.poll(min(remaining, MEMORY_CHECK_SECONDS) * 1000):
                if self._read_memory() > self._memory_before + memory_bytes:
                    raise _OutOfMemory
                continue
            block = os.read(fd, min(length - len(data), 2**20))
            if not block:
                raise _ChildExited(self._process.wait())
            data += block
        return bytes(data)

    def _read_memory(self) -> int:
        """The bytes that the child takes of the memory; 0 where the system does not say."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_bytes().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def log_stderr(self) -> None:
        """Log what the child printed, for developers."""
        if logger.isEnabledFor(logging.DEBUG):
            self._stderr.seek(0)
            if text := self._stderr.read(16_384):
                logger.debug("A parsing child printed: %s", text.decode("utf-8", "replace"))

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)
