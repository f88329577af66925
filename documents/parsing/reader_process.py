"""One child process that reads files, as its parent sees it.

It is started as a new program, never forked: the embedded engine does not survive a ``fork``.
"""

import json
import logging
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from documents.parsing.document import Limits

logger = logging.getLogger(__name__)

MEMORY_CHECK_SECONDS = 0.1
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
    "TESSDATA_PREFIX",
)
_ROOT = Path(__file__).resolve().parents[2]
_BYTES_PER_CHAR = 6  # at most, in JSON


class ReaderExited(Exception):
    """The child ended without an answer."""

    def __init__(self, return_code: int) -> None:
        super().__init__(return_code)
        self.return_code = return_code


class OutOfMemory(Exception):
    """The child takes more memory than it may for the file."""


class ReaderProcess:
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
            raise ReaderExited(self._process.wait()) from None
        return self.receive_reply(limits)

    def receive_reply(self, limits: Limits) -> dict[str, Any]:
        """After ``ReaderExited``, ``OutOfMemory`` or ``TimeoutError`` the child must be closed."""
        deadline = time.monotonic() + limits.seconds
        length = int.from_bytes(self._receive(8, deadline, limits.memory_bytes), "big")
        if length > limits.max_text_chars * _BYTES_PER_CHAR + limits.max_pages * 4096 + 2**20:
            raise ReaderExited(-signal.SIGABRT)  # a valid reply is never that long
        reply = json.loads(self._receive(length, deadline, limits.memory_bytes))
        if not isinstance(reply, dict):
            raise ReaderExited(-signal.SIGABRT)
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
                    raise OutOfMemory
                continue
            block = os.read(fd, min(length - len(data), 2**20))
            if not block:
                raise ReaderExited(self._process.wait())
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
