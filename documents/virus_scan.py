"""Ask a virus scanner (clamd) about a file; the only module that talks to it.

Source of the protocol: clamd(8), commands PING and INSTREAM.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings

from documents.exceptions import ScannerUnavailable, Unparsable

CONNECT_SECONDS: Final = 5
BLOCK_BYTES: Final = 2**16
MAX_REPLY_BYTES: Final = 4_096


def is_scanner_configured() -> bool:
    return bool(settings.STRATA_CLAMD)


def scan_file(path: Path) -> None:
    """Return if the scanner finds nothing in the file.

    Raises:
        Unparsable: ``infected_file``: it finds something. ``unscannable_file``: the file is larger
            than it takes.
        ScannerUnavailable: it does not answer; retry helps.
        FileNotFoundError: there is no file.
    """
    with path.open("rb") as file, _connected() as scanner:
        scanner.sendall(b"zINSTREAM\0")
        try:
            while block := file.read(BLOCK_BYTES):
                scanner.sendall(struct.pack("!I", len(block)) + block)
            scanner.sendall(struct.pack("!I", 0))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has refused the file meanwhile, and says why
        reply = _read_reply(scanner)
    verdict = reply.removeprefix("stream: ")
    if verdict == "OK":
        return
    if verdict.endswith(" FOUND"):
        found = verdict.removesuffix(" FOUND")[:200]
        raise Unparsable(
            "infected_file",
            f"The virus scanner found {found} in the file, which was deleted.",
            fix="Clean the file and add it again.",
        )
    if "size limit exceeded" in verdict:
        raise Unparsable(
            "unscannable_file",
            "The file is larger than the virus scanner takes.",
            fix="Raise StreamMaxLength in clamd.conf to STRATA_MAX_UPLOAD_BYTES, or split it.",
        )
    raise _make_error(f"it answered {verdict[:200]!r}")


def ping_scanner() -> None:
    """Check that the scanner answers. Raises ``ScannerUnavailable``: the scanner does not
    answer."""
    with _connected() as scanner:
        scanner.sendall(b"zPING\0")
        if (reply := _read_reply(scanner)) != "PONG":
            raise _make_error(f"it answered {reply[:200]!r}")


@contextmanager
def _connected() -> Iterator[socket.socket]:
    address = settings.STRATA_CLAMD
    host, _, port = address.rpartition(":")
    is_path = address.startswith("/")
    try:
        with (
            socket.socket(socket.AF_UNIX)
            if is_path
            else socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS)
        ) as scanner:
            if is_path:
                scanner.settimeout(CONNECT_SECONDS)
                scanner.connect(address)
            scanner.settimeout(settings.STRATA_CLAMD_SECONDS)
            yield scanner
    except OSError as error:
        raise _make_error(str(error)) from None


def _read_reply(scanner: socket.socket) -> str:
    reply = b""
    while not reply.endswith(b"\0") and len(reply) < MAX_REPLY_BYTES:
        part = scanner.recv(MAX_REPLY_BYTES)
        if not part:
            break
        reply += part
    return reply.rstrip(b"\0\n").decode("utf-8", "replace")


def _make_error(reason: str) -> ScannerUnavailable:
    return ScannerUnavailable(
        f"The virus scanner at {settings.STRATA_CLAMD} did not answer: {reason}.",
        fix="Start clamd, or correct STRATA_CLAMD. Files wait for it, and are then read.",
    )
