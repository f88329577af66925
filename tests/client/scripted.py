"""A scripted server that records its requests."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

URL = "http://strata.test"


class Pieces(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A body that arrives in pieces; an exception among them is raised at its position."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces = pieces
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


class Script(httpx.MockTransport):
    """Returns one answer after another, and then repeats the last one."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        super().__init__(self._answer)
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def asked(self) -> list[str]:
        """Method and path of each request."""
        return [
            f"{request.method} {request.url.raw_path.decode().removeprefix('/api/v1/')}"
            for request in self.requests
        ]

    def body(self, at: int = -1) -> Any:
        return json.loads(self.requests[at].content)


def answers(status: int, content: Any) -> httpx.Response:
    return httpx.Response(status, json=content)


def refuses(
    status: int, code: str = "invalid", retry_after: str = "", **more: Any
) -> httpx.Response:
    headers = {"Retry-After": retry_after} if retry_after else {}
    content = {"code": code, "detail": "It cannot be done.", **more}
    return httpx.Response(status, json=content, headers=headers)


def streams(*pieces: bytes | Exception) -> httpx.Response:
    return streams_from(Pieces(*pieces))


def streams_from(body: Pieces) -> httpx.Response:
    return httpx.Response(200, stream=body, headers={"Content-Type": "text/event-stream"})


def event(kind: str, data: dict[str, Any], id: str = "") -> bytes:
    """Encode an event as the server does."""
    lines = [f"id: {id}"] if id else []
    lines += [f"event: {kind}", f"data: {json.dumps(data, ensure_ascii=False)}", "", ""]
    return "\n".join(lines).encode()


def artifact(status: str = "ready", **fields: Any) -> dict[str, Any]:
    return {"id": "a1", "title": "Tides", "status": status, "error": None, **fields}


class CutAfterAPiece(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """A real connection; the first stream over it breaks after its first piece of an answer."""

    def __init__(self) -> None:
        self.ids_sent: list[str | None] = []
        self._asynchronous = httpx.AsyncHTTPTransport()
        self._synchronous = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._synchronous.handle_request(request)
        if self._is_cut(request):
            content = b"".join(response.iter_bytes())
            response.close()
            return streams(*self._beginning(content))
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._asynchronous.handle_async_request(request)
        if self._is_cut(request):
            content = b"".join([piece async for piece in response.aiter_bytes()])
            await response.aclose()
            return streams(*self._beginning(content))
        return response

    def _is_cut(self, request: httpx.Request) -> bool:
        if request.url.path != "/api/v1/ask":
            return False
        self.ids_sent.append(request.headers.get("Last-Event-ID"))
        return len(self.ids_sent) == 1

    def _beginning(self, content: bytes) -> tuple[bytes, Exception]:
        end = content.index(b"\n\n", content.index(b"event: chunk")) + 2
        return content[:end], httpx.ReadError("cut")

    def close(self) -> None:
        self._synchronous.close()

    async def aclose(self) -> None:
        await self._asynchronous.aclose()
