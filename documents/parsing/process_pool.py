"""A pool of child processes that read files; a child is discarded after any failure. Only as many
read at once as the memory allows; other threads wait."""

import atexit
import base64
import json
import os
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from core.memory import read_memory_limit
from documents.exceptions import Unparsable
from documents.parsing import ocr
from documents.parsing.document import FileReceiver, Limits, make_memory_error
from documents.parsing.reader_process import OutOfMemory, ReaderExited, ReaderProcess

MAX_IDLE_CHILDREN = 4  # idle children that are kept; each takes about 60 MB

# What a built-in reader may take of the memory itself, whose limit is one of addresses, which some
# libraries reserve by the gigabyte. The largest seen: 0.3 GB for a PDF of 3 MB.
BASE_BYTES = 384 * 2**20
BYTES_PER_BYTE = 100  # of the file
OCR_BYTES = 2**30  # more, where OCR is installed

_idle: deque[ReaderProcess] = deque()


def read_confinement() -> list[str]:
    """How a child is confined; see ``documents.parsing.confinement``."""
    limits = Limits.from_settings()
    request = {"task": "confinement", "limits": asdict(limits)}
    with get_reader_slots():
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
def get_reader_slots() -> threading.Semaphore:
    """What a thread holds while a child reads a whole file for it."""
    return threading.Semaphore(count_readers())


def _clear_pool_after_fork() -> None:
    """In a forked process: the children belong to the parent, so their pipes must not be used."""
    _idle.clear()
    get_reader_slots.cache_clear()


atexit.register(close_child_processes)
os.register_at_fork(after_in_child=_clear_pool_after_fork)


def read_file(
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
            raise make_timeout_error(limits) from None
        except OutOfMemory:
            raise make_memory_error() from None
        except ReaderExited as ended:
            if ended.return_code == 0 and not is_fresh:
                continue  # the idle child had just ended
            if ended.return_code == -signal.SIGXCPU:
                raise make_timeout_error(limits) from None
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


def _acquire_child() -> tuple[ReaderProcess, bool]:
    while True:
        try:
            child = _idle.pop()
        except IndexError:
            return ReaderProcess(_choose_place()), True
        is_in_place = child.folder.is_dir() and child.folder.parent == _choose_place()
        if child.is_alive() and is_in_place:
            return child, False
        child.close()


def _choose_place() -> Path:
    """Where the children have their folders: beside the originals, so that these can be linked."""
    from django.conf import settings  # a child, which imports this module too, needs no Django

    files = Path(settings.STRATA_FILES_DIR)
    return (files if files.is_dir() else Path(tempfile.gettempdir())).resolve()


def make_timeout_error(limits: Limits) -> Unparsable:
    return Unparsable(
        "parse_timeout",
        f"Reading the file takes longer than the {limits.seconds:g} seconds allowed.",
        fix="Split it into several files.",
    )
