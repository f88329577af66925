"""Main program of the child process that reads files; started only by ``reader_process``.

Its arguments are the folders that it may read. It reads one JSON request per line from standard
input, each for one task, and writes each reply (8 bytes of length, then JSON) to the
original standard output, before it a message for each page that it has read by OCR, and for each
block of a file in the file. It ends when its parent is gone, when it is idle, or when it has used
too much memory.
"""

import base64
import importlib
import json
import math
import os
import queue
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, BinaryIO

from documents.exceptions import Unparsable
from documents.parsing import ocr, tesseract
from documents.parsing.added_readers import read_with
from documents.parsing.confinement import confine
from documents.parsing.document import (
    DocumentDraft,
    Limits,
    PageReader,
    ParsedDocument,
    make_memory_error,
)
from documents.parsing.formats import detect_format, guess_media_type

if TYPE_CHECKING:
    from PIL.Image import Image

IDLE_SECONDS = 60
MAX_FILES = 500  # then a new process is started, which ends any leaks
MAX_PEAK_BYTES = 400 * 2**20  # a process above this peak is replaced: it may not return memory
MAX_LOG_BYTES = 2**20  # only standard error is written to a file

Request = dict[str, Any]
Reply = dict[str, Any]
Send = Callable[[Reply], None]  # a message before the reply


def main() -> None:
    sys.modules["numpy"] = None  # type: ignore[assignment]  # openpyxl would load it: 0.2 s, 30 MB
    # Only replies use this descriptor: what native libraries print must not mix with them.
    reply_fd = os.dup(1)
    os.dup2(2, 1)
    status = _open_own_status()
    weights = [os.environ.get("DOCLING_ARTIFACTS_PATH"), str(tesseract.find_weights_folder())]
    confinement = confine(
        [*sys.argv[1:], *filter(None, weights)]
    )  # before there is a second thread
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_LOG_BYTES, MAX_LOG_BYTES))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_requests, args=[requests], daemon=True).start()
    for count in range(1, MAX_FILES + 1):
        try:
            request = json.loads(requests.get(timeout=IDLE_SECONDS))
        except queue.Empty:
            break
        limits = Limits(**request["limits"])
        _apply_limits(limits)
        if request["task"] == "confinement":
            reply: Reply = {"confinement": confinement}
        else:
            reply = _read_file(request, limits, partial(_send_reply, reply_fd))
        has_reached_limit = count == MAX_FILES or _peak_bytes(status) > MAX_PEAK_BYTES
        reply["is_last"] = reply.get("is_last", False) or has_reached_limit
        _send_reply(reply_fd, reply)
        if reply["is_last"]:
            break
    os._exit(0)  # does not wait for the thread that reads input


def _receive_requests(requests: "queue.SimpleQueue[bytes]") -> None:
    """Pass requests on; exit at once when the parent is gone, even while a file is read."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _apply_limits(limits: Limits) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used_seconds = usage.ru_utime + usage.ru_stime
    # Normally the parent's timeout ends this process first; this limit works without a parent.
    seconds = math.ceil(used_seconds + limits.seconds) + 2
    for kind, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, limits.memory_bytes),
    ):
        _, hard = resource.getrlimit(kind)
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (soft, hard))


def _load_recognised(path: str | None) -> dict[int, ocr.Recognised]:
    """The pages that an earlier process has read by OCR."""
    pages = {}
    with suppress(FileNotFoundError):
        for line in Path(path or os.devnull).read_text(encoding="utf-8").splitlines():
            # Cut off when the process was killed, or by a release that kept no lines.
            with suppress(ValueError, KeyError):
                page = json.loads(line)
                pages[page["index"]] = ocr.Recognised(page["text"], page["lines"])
    return pages


def _make_page_reader(
    known: dict[int, ocr.Recognised], languages: Sequence[str], limits: Limits, send: Send
) -> PageReader:
    """Reads each page by OCR with the time limit of a file, and reports it at once, so that it is
    not read again if this process is killed."""

    def read_page(index: int, page_count: int, render: Callable[[], "Image"]) -> ocr.Recognised:
        if index not in known:
            _apply_limits(limits)
            known[index] = ocr.read_picture(render(), languages)
            page = {"index": index, **known[index]._asdict()}
            send({"recognised": page, "page_count": page_count})
            _apply_limits(limits)
        return known[index]

    return read_page


def _read_file(request: Request, limits: Limits, send: Send) -> Reply:
    """Do a task; turn every exception of a library into an error with a code."""
    try:
        with Path(request["path"]).open("rb") as file:
            file.read(1)
    except OSError as error:  # a reason that is not in the file: a retry may help
        return {"os_error": (error.errno, error.strerror or str(error)), "is_last": True}
    try:
        return _do_task(request, limits, send)
    except Unparsable as error:
        return _error_reply(error.code, error.detail, error.fix)
    except MemoryError:
        return _out_of_memory_reply()
    except RecursionError:
        return _error_reply("too_deep", "The file is nested too deeply.", is_last=True)
    except Exception as error:  # noqa: BLE001 - a hostile file may raise anything
        if "out of memory" in str(error).lower() or "memory allocation" in str(error).lower():
            return _out_of_memory_reply()
        traceback.print_exc()
        return _error_reply(
            "damaged_file",
            f"The file is damaged or is not a valid {Path(request['file_name']).suffix or 'text'} "
            "file.",
            "Save or export it again.",
            is_last=True,
        )


def _do_task(request: Request, limits: Limits, send: Send) -> Reply:
    path = Path(request["path"])
    if request["task"] == "parse":
        return {"document": asdict(_parse(path, request, limits, send))}
    pictures = importlib.import_module("documents.parsing.page_pictures")  # loads PDFium
    if request["task"] == "draw_page":
        picture = pictures.draw(path, request["media_type"], request["page_index"])
        return {"picture": base64.b64encode(picture).decode("ascii")}
    names = ("page_index", "text", "start", "end")
    return {"boxes": pictures.find_boxes(path, *(request[name] for name in names))}


def _parse(path: Path, request: Request, limits: Limits, send: Send) -> ParsedDocument:
    draft = DocumentDraft(limits, suffix=Path(request["file_name"]).suffix.lower())
    if request["ocr_languages"] is not None:
        known = _load_recognised(request["recognised"])
        draft.ocr = _make_page_reader(known, request["ocr_languages"], limits, send)
    if request["takes_files"]:
        draft.send_file = lambda name, block: send(
            {"file": name, "block": base64.b64encode(block).decode("ascii")}
        )
    if request["reader"]:
        read_with(request["reader"], path, draft)
        return draft.finish(guess_media_type(request["file_name"]))
    takes_images = request["takes_images"] or draft.ocr is not None
    format_ = detect_format(path, request["file_name"], takes_images=takes_images)
    if path.stat().st_size:
        resolve_name(f"documents.parsing.{format_.reader}")(path, draft)
    return draft.finish(format_.media_type)


def _out_of_memory_reply() -> Reply:
    error = make_memory_error()
    return _error_reply(error.code, error.detail, error.fix, is_last=True)


def _error_reply(code: str, detail: str, fix: str | None = None, *, is_last: bool = False) -> Reply:
    return {"error": {"code": code, "detail": detail, "fix": fix}, "is_last": is_last}


def _send_reply(fd: int, reply: Reply) -> None:
    try:
        payload = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
    except MemoryError:
        reply = _out_of_memory_reply()
        payload = json.dumps(reply).encode()
    for data in (len(payload).to_bytes(8, "big"), payload):
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]


def _open_own_status() -> BinaryIO | None:
    """A file that shows this process's memory, opened before file access is restricted; None if
    the system has none."""
    try:
        return Path("/proc/self/status").open("rb", buffering=0)
    except OSError:
        return None


def _peak_bytes(status: BinaryIO | None) -> int:
    if status is not None:
        # On Linux ``ru_maxrss`` below includes the parent's peak, and a server's may be large.
        status.seek(0)
        return int(status.read().partition(b"VmHWM:")[2].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
