"""Main program of the child process that parses files; started only by ``children``.

One JSON request a line on standard input, one reply (8 bytes of length, then JSON) each on the
first standard output. It ends by itself when its parent is gone, when idle, or when worn.
"""

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
from dataclasses import asdict
from pathlib import Path
from typing import Any

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft, Limits
from documents.parsing.formats import detect_format

IDLE_SECONDS = 60
MAX_FILES = 500  # then leaks, if any, end with the process
MAX_PEAK_BYTES = 400 * 2**20  # of memory that the allocators may never give back
MAX_LOG_BYTES = 2**20  # nothing but standard error is written to a file

Reply = dict[str, Any]


def main() -> None:
    sys.modules["numpy"] = None  # type: ignore[assignment]  # openpyxl would load it: 0.2 s, 30 MB
    # Replies have this to themselves: what a native library prints must not mix with them.
    reply_fd = os.dup(1)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_LOG_BYTES, MAX_LOG_BYTES))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_requests, args=[requests], daemon=True).start()
    for count in range(1, MAX_FILES + 1):
        try:
            request = json.loads(requests.get(timeout=IDLE_SECONDS))
        except queue.Empty:
            break
        limits = Limits(**request["limits"])
        _apply_limits(limits)
        reply = _parse_to_reply(
            Path(request["path"]), request["file_name"], limits, request["takes_images"]
        )
        is_worn = count == MAX_FILES or _peak_bytes() > MAX_PEAK_BYTES
        reply["is_spent"] = reply.get("is_spent", False) or is_worn
        _send_reply(reply_fd, reply)
        if reply["is_spent"]:
            break
    os._exit(0)  # without waiting for the thread, which waits for input


def _receive_requests(requests: "queue.SimpleQueue[bytes]") -> None:
    """Pass requests on; leave at once when the parent has gone, whatever is being read."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _apply_limits(limits: Limits) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used_seconds = usage.ru_utime + usage.ru_stime
    # The parent's clock ends this process first; this is for when there is no parent any more.
    seconds = math.ceil(used_seconds + limits.seconds) + 2
    for kind, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, limits.memory_bytes),
    ):
        _, hard = resource.getrlimit(kind)
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (soft, hard))


def _parse_to_reply(path: Path, file_name: str, limits: Limits, takes_images: bool) -> Reply:
    """Read the file; whatever a library makes of a hostile one becomes a condition with a code."""
    draft = DocumentDraft(limits)
    try:
        try:
            format_ = detect_format(path, file_name, takes_images=takes_images)
        except OSError as error:  # the disk's fault, not the file's: the caller may try again
            return {"os_error": [error.errno, error.strerror or str(error)], "is_spent": True}
        if path.stat().st_size:
            reader = importlib.import_module(f"documents.parsing.{format_.module}")
            reader.read(path, draft)
        return {"document": asdict(draft.finish(format_.media_type))}
    except Unparsable as error:
        return _error_reply(error.code, error.detail, error.fix)
    except MemoryError:
        return _out_of_memory_reply()
    except RecursionError:
        return _error_reply("too_deep", "The file is nested too deeply.", is_spent=True)
    except Exception as error:  # noqa: BLE001 - readers meet hostile files: anything may come
        if "out of memory" in str(error).lower() or "memory allocation" in str(error).lower():
            return _out_of_memory_reply()
        traceback.print_exc()
        return _error_reply(
            "damaged_file",
            f"The file is damaged or is not a valid {Path(file_name).suffix or 'text'} file.",
            "Save or export it again.",
            is_spent=True,
        )


def _out_of_memory_reply() -> Reply:
    return _error_reply(
        "parse_memory",
        "Reading the file takes more memory than is allowed.",
        "Split it into several files.",
        is_spent=True,
    )


def _error_reply(
    code: str, detail: str, fix: str | None = None, *, is_spent: bool = False
) -> Reply:
    return {"error": {"code": code, "detail": detail, "fix": fix}, "is_spent": is_spent}


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


def _peak_bytes() -> int:
    """The most memory this process has held."""
    try:
        # Linux counts the parent's into the usage below, which a fat server would pass on.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
