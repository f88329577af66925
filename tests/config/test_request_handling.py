import asyncio
import threading
from typing import Any

import pytest

from config import request_handling
from config.request_handling import _make_environ, _RequestBody
from core.exceptions import DiskFull, TooLarge

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


class TestLiveness:
    def test_is_answered_while_every_thread_is_busy(self, settings, monkeypatch):
        release = threading.Event()

        def call(environ):
            if environ["PATH_INFO"] != "/health/live":
                assert release.wait(60)
            return request_handling._Answer(200, [], environ["PATH_INFO"].encode())

        monkeypatch.setattr(request_handling, "_call_django", call)
        sent: list[bytes] = []

        async def ask(path: str) -> None:
            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message):
                sent.append(message.get("body", b""))

            scope: dict[str, Any] = {
                "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
                "http_version": "1.1", "scheme": "http", "server": None, "client": None,
                "headers": [],
            }  # fmt: skip
            await request_handling.handle_request(scope, receive, send)

        async def ask_all() -> None:
            count = settings.STRATA_WEB_THREADS + 1
            others = [asyncio.create_task(ask("/api/v1/indexes/")) for _ in range(count)]
            try:
                await asyncio.wait_for(ask("/health/live"), 60)
                assert b"/health/live" in sent
                assert b"/api/v1/indexes/" not in sent
            finally:
                release.set()
                await asyncio.gather(*others)

        asyncio.run(ask_all())


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
