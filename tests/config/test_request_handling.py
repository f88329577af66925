import asyncio
import threading
from typing import Any

import pytest

from config import request_handling
from config.request_handling import _make_environ, _RequestBody
from core.exceptions import DiskFull, TooLarge
from documents.batches import BatchResponse

LARGE = 200_000


def environ(*headers: tuple[bytes, bytes], path: bytes = b"/"):
    return _make_environ(
        {
            "method": "GET", "raw_path": path, "query_string": b"q=%C3%A4", "http_version": "1.1",
            "scheme": "http", "server": ("host", 80), "client": None, "headers": headers,
        }
    )  # fmt: skip


class TestEnviron:
    def test_ignores_headers_with_an_underscore(self):
        given = environ((b"x-forwarded-proto", b"http"), (b"x_forwarded_proto", b"https"))

        assert given["HTTP_X_FORWARDED_PROTO"] == "http"

    def test_joins_repeated_headers(self):
        given = environ((b"accept", b"a"), (b"accept", b"b"), (b"cookie", b"c"), (b"cookie", b"d"))

        assert (given["HTTP_ACCEPT"], given["HTTP_COOKIE"]) == ("a,b", "c; d")

    def test_decodes_the_path_to_bytes(self):
        assert environ(path=b"/%C3%A4%2F")["PATH_INFO"].encode("latin-1") == "/ä/".encode()


async def ask(path: str) -> bytes:
    """The body of the answer to a request without a body."""
    sent: list[bytes] = []
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        return messages.pop() if messages else await asyncio.Event().wait()

    async def send(message):
        sent.append(message.get("body", b""))

    scope: dict[str, Any] = {
        "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
        "http_version": "1.1", "scheme": "http", "server": None, "client": None,
        "headers": [],
    }  # fmt: skip
    await request_handling.handle_request(scope, receive, send)
    return b"".join(sent)


class TestThreads:
    @pytest.fixture
    def release(self):
        event = threading.Event()
        yield event
        event.set()

    async def ask_while(self, busy: list[str], release: threading.Event, *paths: str) -> None:
        """Ask each path while requests to the busy ones, which wait for the event, are open."""
        others = [asyncio.create_task(ask(path)) for path in busy]
        try:
            for path in paths:
                assert await asyncio.wait_for(ask(path), 60) == path.encode()
            assert not any(each.done() for each in others)
        finally:
            release.set()
            await asyncio.gather(*others)

    @pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
    def test_of_health_checks_do_not_wait_for_others(self, settings, monkeypatch, release, path):
        def call(environ):
            if not environ["PATH_INFO"].startswith("/health/"):
                assert release.wait(60)
            return request_handling._Answer(200, [], environ["PATH_INFO"].encode())

        monkeypatch.setattr(request_handling, "_call_django", call)
        busy = ["/api/v1/indexes/"] * (settings.STRATA_WEB_THREADS + 1)

        asyncio.run(self.ask_while(busy, release, path))

    @pytest.mark.parametrize(
        "path", ["/oauth/authorize", "/sign-in/openid/", "/sign-in/openid/return/"]
    )
    def test_of_pages_that_wait_for_another_host_leave_others_free(
        self, settings, monkeypatch, release, path
    ):
        def call(environ):
            if environ["PATH_INFO"] == path:
                assert release.wait(60)
            return request_handling._Answer(200, [], environ["PATH_INFO"].encode())

        monkeypatch.setattr(request_handling, "_call_django", call)
        busy = [path] * (settings.STRATA_WEB_THREADS + 1)

        asyncio.run(self.ask_while(busy, release, "/health/ready", "/api/v1/indexes/"))

    def test_of_batches_leave_others_free(self, settings, monkeypatch, release):
        def store():
            yield b""
            assert release.wait(60)
            yield b"{}"

        def call(environ):
            if environ["PATH_INFO"] == "/batch":
                return request_handling._Answer(200, [], None, BatchResponse(store(), ""))
            return request_handling._Answer(200, [], environ["PATH_INFO"].encode())

        monkeypatch.setattr(request_handling, "_call_django", call)
        busy = ["/batch"] * (settings.STRATA_WEB_THREADS + 1)

        asyncio.run(self.ask_while(busy, release, "/health/ready", "/api/v1/indexes/"))


class TestALargeBody:
    @pytest.fixture
    def folder(self, settings, tmp_path):
        settings.FILE_UPLOAD_TEMP_DIR = tmp_path
        return tmp_path

    def receive(self, limit: int, pieces: int = 4, declared: int = 0) -> _RequestBody:
        messages = [
            {"type": "http.request", "body": b"x" * (LARGE // pieces), "more_body": left > 0}
            for left in reversed(range(pieces))
        ]

        async def receive_next():
            return messages.pop(0)

        async def receive_all() -> _RequestBody:
            body = _RequestBody(receive_next, declared)
            try:
                await body.receive_small()
                assert not body.is_small
                await body.receive_large(limit)
            except BaseException:
                body.file.close()
                raise
            return body

        return asyncio.run(receive_all())

    @pytest.mark.parametrize("pieces", [1, 4])
    @pytest.mark.parametrize("declared", [0, LARGE])
    def test_is_received_completely(self, folder, pieces, declared):
        body = self.receive(LARGE, pieces, declared)

        body.file.seek(0)
        assert body.file.read() == b"x" * LARGE
        assert body.byte_count == LARGE
        body.file.close()

    @pytest.mark.parametrize("pieces", [1, 4])
    def test_is_refused_by_its_size_if_the_length_is_not_declared(self, folder, pieces):
        with pytest.raises(TooLarge, match="199,999 bytes"):
            self.receive(LARGE - 1, pieces)

    @pytest.mark.parametrize("declared", [0, LARGE])
    def test_is_refused_if_the_disk_is_nearly_full(self, folder, settings, declared):
        settings.STRATA_MIN_FREE_BYTES = 2**60

        with pytest.raises(DiskFull):
            self.receive(LARGE, declared=declared)
