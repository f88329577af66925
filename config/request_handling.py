"""Read a request's body, then call Django.

body    -> in memory, up to STRATA_MAX_REQUEST_BYTES; a larger one goes to a file, after Django
           has said that the view accepts it from this caller (config.middleware)
answer  -> Django's WSGI handler in a thread, which never waits for the client; health checks,
           batches of documents, and pages that wait for a host that is not the operator's have
           threads of their own, so that nothing else waits for them. For `ask`, which waits for a
           language model, and for MCP, which waits for requests to this service, Django's ASGI
           handler
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, TypeVar
from urllib.parse import unquote_to_bytes
from wsgiref.util import FileWrapper

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application

from config.error_statuses import exception_handler
from config.middleware import BODY_IS_PENDING, BodyWanted
from config.proxies import apply_proxy_headers
from config.web_threads import web_threads
from core.apps import list_apps
from core.exceptions import BodyTimeout, StrataError, TooLarge, TooManyStreams
from core.stages import keep_span, span
from documents.batches import BatchResponse
from documents.originals import require_free_disk

R = TypeVar("R")

STREAMING_PATHS: Final = frozenset[str]().union(*(app.streaming_paths for app in list_apps()))
ASYNCHRONOUS_PATHS: Final = STREAMING_PATHS.union(*(app.asynchronous_paths for app in list_apps()))
SPOOL_BLOCK_BYTES: Final = 2**20  # written to the file in one call
SEND_BLOCK_BYTES: Final = 2**18  # a client has STRATA_WRITE_SECONDS to read it

_wsgi_handler = get_wsgi_application()
_asgi_handler = get_asgi_application()
_threads = web_threads
_batch_threads = ThreadPoolExecutor(settings.STRATA_BATCH_THREADS, "batch")
# Health checks do not wait behind other requests, nor liveness, which asks no database, behind
# readiness.
_away_threads = ThreadPoolExecutor(settings.STRATA_AWAY_THREADS, "away")
_threads_by_path: Final = {
    "/health/live": ThreadPoolExecutor(1, "live"),
    "/health/ready": ThreadPoolExecutor(1, "ready"),
    **{path: _away_threads for app in list_apps() for path in app.slow_paths},
}
_stream_count = 0


class _ClientDisconnected(Exception):
    """The client has closed the connection."""


async def handle_request(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The ASGI application."""
    scope = apply_proxy_headers(scope)
    environ = _make_environ(scope)
    if not environ["PATH_INFO"].startswith(("/api/", "/v1/")):
        await _handle_request(scope, environ, receive, send)
        return
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    with span("request", headers=headers):
        await _handle_request(scope, environ, receive, send)


async def _handle_request(
    scope: dict[str, Any], environ: dict[str, Any], receive: Any, send: Any
) -> None:
    path = environ["PATH_INFO"]
    body = _RequestBody(receive, int(environ.get("CONTENT_LENGTH", 0)))
    try:
        await body.receive_small()
        if not body.is_small:
            preview = await _run_in_thread(
                _threads, _call_django, {**environ, BODY_IS_PENDING: True}
            )
            if not isinstance(preview.response, BodyWanted):
                if preview.content is None:  # such as a static file, which needs no body
                    preview.response.close()
                    raise _make_too_large(settings.STRATA_MAX_REQUEST_BYTES)
                await _send_answer(preview, receive, send)
                return
            await body.receive_large(preview.response.max_bytes)
        if path in ASYNCHRONOUS_PATHS:
            with _counting_streams() if path in STREAMING_PATHS else nullcontext():
                await _answer_on_loop(scope, body, receive, send)
            return
        environ |= {"wsgi.input": body.file, "CONTENT_LENGTH": str(body.byte_count)}
        body.file.seek(0)
        threads = _threads_by_path.get(path, _threads)
        await _send_answer(await _run_in_thread(threads, _call_django, environ), receive, send)
    except _ClientDisconnected:
        pass
    except StrataError as error:
        await _send_answer(_make_error_answer(error), receive, send)
    finally:
        body.file.close()


async def _run_in_thread(threads: Executor, function: Callable[..., R], *args: Any) -> R:
    return await asyncio.get_running_loop().run_in_executor(threads, keep_span(function), *args)


# --- The body --------------------------------------------------------------------------------


class _RequestBody:
    """A request's body while it is received: in memory at first, then in a file."""

    def __init__(self, receive: Any, declared_bytes: int) -> None:
        self.file: IO[bytes] = BytesIO()
        self.byte_count = 0
        self._receive = receive
        self._declared_bytes = declared_bytes
        self._is_whole = False

    @property
    def is_small(self) -> bool:
        return self._is_whole and self.byte_count <= settings.STRATA_MAX_REQUEST_BYTES

    async def receive_small(self) -> None:
        """Receive at most a small body. If a large one is declared, receive nothing: reading would
        tell a client that waits for ``100 Continue`` to send it."""
        limit = settings.STRATA_MAX_REQUEST_BYTES
        if self._declared_bytes > limit:
            return
        async with _body_deadline():
            while not self._is_whole and self.byte_count <= limit:
                self.file.write(await self._receive_piece())

    async def receive_large(self, limit: int) -> None:
        """Receive the rest into a file.

        Raises:
            TooLarge: it has more than ``limit`` bytes.
            DiskFull: writing it would leave less than ``STRATA_MIN_FREE_BYTES``.
            BodyTimeout: nothing came for ``STRATA_BODY_SECONDS``.
        """
        _check_body_size(self._declared_bytes, limit)
        folder = Path(settings.FILE_UPLOAD_TEMP_DIR)
        require_free_disk(folder, self._declared_bytes)
        self.file.seek(0)
        block = bytearray(self.file.read())
        self.file = TemporaryFile(dir=folder)  # noqa: SIM115
        while True:
            _check_body_size(self.byte_count, limit)
            if self._is_whole or len(block) >= SPOOL_BLOCK_BYTES:
                require_free_disk(folder, len(block))
                await asyncio.to_thread(self.file.write, block)
                block = bytearray()
            if self._is_whole:
                return
            async with _body_deadline():
                block += await self._receive_piece()

    async def _receive_piece(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise _ClientDisconnected
        self._is_whole = not message["more_body"]
        self.byte_count += len(message["body"])
        return bytes(message["body"])


@asynccontextmanager
async def _body_deadline() -> AsyncIterator[None]:
    seconds = settings.STRATA_BODY_SECONDS
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise BodyTimeout(
            f"The request body did not arrive within {seconds} s.",
            fix="Send the request again over a faster connection, or in smaller parts.",
        ) from None


def _check_body_size(byte_count: int, limit: int) -> None:
    if byte_count > limit:
        raise _make_too_large(limit)


def _make_too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The request body may have at most {limit:,} bytes.", fix="Send less at a time."
    )


# --- The answer ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: list[tuple[bytes, bytes]]
    content: bytes | None  # None: the response yields it in parts
    response: Any = None


def _call_django(environ: dict[str, Any]) -> _Answer:
    head: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        head[:] = status, headers

    response: Any = _wsgi_handler(environ, start_response)
    status, headers = head
    content = None
    if not getattr(response, "streaming", True):
        content = b"".join(response)
        response.close()
    return _Answer(int(status[:3]), _encode_headers(headers), content, response)


async def _send_answer(answer: _Answer, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    if answer.content is None:
        await _send_parts(answer.response, receive, send)
        return
    content = memoryview(answer.content)
    while len(content) > SEND_BLOCK_BYTES:
        await send(_body_message(bytes(content[:SEND_BLOCK_BYTES]), is_last=False))
        content = content[SEND_BLOCK_BYTES:]
    await send(_body_message(bytes(content), is_last=True))


async def _send_parts(response: Any, receive: Any, send: Any) -> None:
    """Take the response's parts one by one, each in a thread, until the client disconnects."""
    disconnected = asyncio.ensure_future(receive())  # after the body, only a disconnect follows
    parts = iter(response)
    threads = _batch_threads if isinstance(response, BatchResponse) else _threads
    try:
        while not disconnected.done():
            part = await _run_in_thread(threads, next, parts, None)
            if part is None:
                break
            await send(_body_message(part, is_last=False))
        await send(_body_message(b"", is_last=True))
    finally:
        disconnected.cancel()
        threads.submit(response.close)


def _body_message(content: bytes, *, is_last: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": not is_last}


@contextmanager
def _counting_streams() -> Iterator[None]:
    """Count an answer as streamed until the block ends.

    Raises:
        TooManyStreams: ``STRATA_MAX_STREAMS`` answers are being streamed already.
    """
    global _stream_count
    if _stream_count >= settings.STRATA_MAX_STREAMS:
        raise TooManyStreams(
            f"The server is already streaming {settings.STRATA_MAX_STREAMS} answers, which is its "
            "limit.",
            fix="Try again after the number of seconds in Retry-After.",
        )
    _stream_count += 1
    try:
        yield
    finally:
        _stream_count -= 1


async def _answer_on_loop(
    scope: dict[str, Any], body: _RequestBody, receive: Any, send: Any
) -> None:
    body.file.seek(0)
    messages = [{"type": "http.request", "body": body.file.read(), "more_body": False}]

    async def receive_again() -> Any:
        return messages.pop() if messages else await receive()

    await _asgi_handler(scope, receive_again, send)


def _make_error_answer(error: StrataError) -> _Answer:
    described = exception_handler(error, {})
    assert described is not None
    content = json.dumps(described.data).encode()
    headers = {
        **described.headers,
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
    }
    return _Answer(described.status_code, _encode_headers(headers.items()), content)


def _encode_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


# --- The environ -----------------------------------------------------------------------------


def _make_environ(scope: dict[str, Any]) -> dict[str, Any]:
    """The WSGI environ (PEP 3333) of an ASGI HTTP scope, with an empty body."""
    server, client = scope["server"] or ("", 0), scope["client"] or ("", 0)
    base = scope.get("root_path", "")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": base,
        "PATH_INFO": unquote_to_bytes(scope["raw_path"][len(base) :]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": client[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": _wrap_file,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for header, value in scope["headers"]:
        if b"_" in header:  # it could pose as the header with a hyphen
            continue
        name, text = header.decode("latin-1").upper().replace("-", "_"), value.decode("latin-1")
        if name not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
            name = f"HTTP_{name}"
        if name in environ:
            text = f"{environ[name]}{'; ' if name == 'HTTP_COOKIE' else ','}{text}"
        environ[name] = text
    return environ


def _wrap_file(file: IO[bytes], block_bytes: int) -> FileWrapper:
    return FileWrapper(file, SEND_BLOCK_BYTES)  # one call of a thread for each block
