"""HTTP clients for other hosts: receivers of events, models, docling-serve, OpenID providers, and
addresses that callers give. Whoever answers may be broken or hostile, so each client bounds

- the bytes of an answer, as they arrive. No content encoding is accepted: some hundred bytes of one
  unpack to gigabytes, which are in memory before anybody can count them.
- the time of a request, from the look-up of the name to the last byte. The ``timeout`` of httpx is
  only for each step, so a byte now and then would keep a request for ever.
- the addresses. A name with a private one is refused unless ``STRATA_PRIVATE_HOSTS`` names it:
  otherwise whoever controls the name's DNS could have Strata send requests into the network behind
  it. The client connects to the address that was checked, so that the name cannot resolve to
  another one in between. A request that a proxy of the environment carries is not checked: the
  proxy resolves the name and decides.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ssl import SSLContext
from typing import Any, Final
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from core.addresses import look_up
from core.connections import (
    AsyncBackend,
    Backend,
    CheckAddresses,
    allow_any,
    allow_named,
    allow_public,
    until,
)
from core.exceptions import Malformed
from core.http_formats import load_json

PROXIED_LOOK_UP_SECONDS: Final = 2.0
CORE_ERRORS: Final = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


class AnswerTooLong(httpx.RemoteProtocolError):
    """The body of an answer is longer than it may be."""


class AnswerEncoded(httpx.RemoteProtocolError):
    """The body of an answer is encoded, although the request accepts no encoding."""


# --- Clients ---------------------------------------------------------------------------------


def make_client(
    *,
    max_bytes: int,
    seconds: float | None = None,
    may_be_private: bool = True,
    **options: Any,
) -> httpx.Client:
    """
    Args:
        max_bytes: how long the body of an answer may be.
        seconds: for each request as a whole. By default, what ``timeout`` of the client or of the
            request gives each step.
        may_be_private: whether ``STRATA_PRIVATE_HOSTS`` counts. False for addresses that
            a stranger gives.
        options: of ``httpx.Client``.

    Requests raise, besides the errors of httpx:
        AnswerTooLong, AnswerEncoded: when the body is read.
        PrivateAddressRefused: the address may not be reached.
    """
    bounds = _Bounds(max_bytes, seconds)
    check = allow_named if may_be_private else allow_public

    def make(check: CheckAddresses, proxy: httpcore.Proxy | None = None) -> _Transport:
        pool = httpcore.ConnectionPool(network_backend=Backend(check), **_pool_options(proxy))
        return _Transport(pool, bounds)

    direct = make(check)
    mounts = {
        pattern: _ProxyTransport(direct, make(allow_any, proxy), may_be_private=may_be_private)
        for pattern, proxy in _list_proxies()
    }
    return httpx.Client(transport=direct, mounts=mounts, **options)


def make_async_client(
    *, max_bytes: int, seconds: float | None = None, **options: Any
) -> httpx.AsyncClient:
    """As ``make_client``."""
    bounds = _Bounds(max_bytes, seconds)

    def make(check: CheckAddresses, proxy: httpcore.Proxy | None = None) -> _AsyncTransport:
        backend = AsyncBackend(check)
        pool = httpcore.AsyncConnectionPool(network_backend=backend, **_pool_options(proxy))
        return _AsyncTransport(pool, bounds)

    direct = make(allow_named)
    mounts = {
        pattern: _AsyncProxyTransport(direct, make(allow_any, proxy))
        for pattern, proxy in _list_proxies()
    }
    return httpx.AsyncClient(transport=direct, mounts=mounts, **options)


def _list_proxies() -> Iterator[tuple[str, httpcore.Proxy]]:
    """The proxies of the environment, each with the pattern of the URLs that it is for."""
    proxies = getproxies()
    for scheme in ("http", "https", "all"):
        if url := proxies.get(scheme):
            proxy = httpx.Proxy(url if "://" in url else f"http://{url}")
            yield f"{scheme}://", httpcore.Proxy(str(proxy.url), proxy.raw_auth)


def _pool_options(proxy: httpcore.Proxy | None) -> dict[str, Any]:
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)  # those of httpx
    return {
        "ssl_context": _get_ssl_context(),
        "proxy": proxy,
        "max_connections": limits.max_connections,
        "max_keepalive_connections": limits.max_keepalive_connections,
        "keepalive_expiry": limits.keepalive_expiry,
    }


@cache
def _get_ssl_context() -> SSLContext:
    """Made once: reading the certificates takes longer than many a request."""
    return httpx.create_ssl_context()


# --- Requests --------------------------------------------------------------------------------


class _Bounds:
    def __init__(self, max_bytes: int, seconds: float | None) -> None:
        self.max_bytes = max_bytes
        self._seconds = seconds

    def start(self, request: httpx.Request) -> float:
        """Begin a request; return when it must have ended, on the clock of ``time.monotonic``,
        which is also that of event loops."""
        request.headers["Accept-Encoding"] = "identity"
        seconds = self._seconds or request.extensions["timeout"]["read"]
        return time.monotonic() + float(seconds)

    def refuse_encoding(self, answer: httpcore.Response) -> None:
        encoding = httpx.Headers(answer.headers).get("content-encoding", "identity")
        if encoding.strip().lower() not in {"", "identity"}:
            raise AnswerEncoded(f"The answer is encoded, as {encoding[:100]!r}.")

    def count(self, received: int) -> None:
        if received > self.max_bytes:
            raise AnswerTooLong(f"The answer is longer than {self.max_bytes:,} bytes.")


class _Transport(httpx.BaseTransport):
    def __init__(self, pool: httpcore.ConnectionPool, bounds: _Bounds) -> None:
        self._pool = pool
        self._bounds = bounds

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        ends_at = self._bounds.start(request)
        with _translated(), until(ends_at):
            answer = self._pool.handle_request(_to_core(request))
        return _from_core(answer, _Body(answer, self._bounds, ends_at))

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response, bounds: _Bounds, ends_at: float) -> None:
        self._answer = answer
        self._bounds = bounds
        self._ends_at = ends_at

    def __iter__(self) -> Iterator[bytes]:
        self._bounds.refuse_encoding(self._answer)
        parts, received = self._answer.iter_stream(), 0
        while True:
            with _translated(), until(self._ends_at):
                part = next(parts, None)
            if part is None:
                return
            received += len(part)
            self._bounds.count(received)
            yield part

    def close(self) -> None:
        self._answer.close()


class _AsyncTransport(httpx.AsyncBaseTransport):
    def __init__(self, pool: httpcore.AsyncConnectionPool, bounds: _Bounds) -> None:
        self._pool = pool
        self._bounds = bounds

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        ends_at = self._bounds.start(request)
        with _translated():
            async with asyncio.timeout_at(ends_at):
                answer = await self._pool.handle_async_request(_to_core(request))
        return _from_core(answer, _AsyncBody(answer, self._bounds, ends_at))

    async def aclose(self) -> None:
        await self._pool.aclose()


class _AsyncBody(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response, bounds: _Bounds, ends_at: float) -> None:
        self._answer = answer
        self._bounds = bounds
        self._ends_at = ends_at

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._bounds.refuse_encoding(self._answer)
        parts, received = self._answer.aiter_stream(), 0
        while True:
            with _translated():
                async with asyncio.timeout_at(self._ends_at):
                    part = await anext(parts, None)
            if part is None:
                return
            received += len(part)
            self._bounds.count(received)
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


class _ProxyTransport(httpx.BaseTransport):
    def __init__(self, direct: _Transport, through: _Transport, *, may_be_private: bool) -> None:
        self._direct = direct
        self._through = through
        self._may_be_private = may_be_private

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if proxy_bypass(host):  # NO_PROXY names it
            return self._direct.handle_request(request)
        if not self._may_be_private:
            with suppress(OSError, ValueError):  # only the proxy may know the name
                allow_public(host, look_up(host).result(PROXIED_LOOK_UP_SECONDS))
        return self._through.handle_request(request)

    def close(self) -> None:
        self._direct.close()
        self._through.close()


class _AsyncProxyTransport(httpx.AsyncBaseTransport):
    def __init__(self, direct: _AsyncTransport, through: _AsyncTransport) -> None:
        self._direct = direct
        self._through = through

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if proxy_bypass(request.url.host):  # NO_PROXY names it
            return await self._direct.handle_async_request(request)
        return await self._through.handle_async_request(request)

    async def aclose(self) -> None:
        await self._direct.aclose()
        await self._through.aclose()


def _to_core(request: httpx.Request) -> httpcore.Request:
    url = request.url
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def _from_core(answer: httpcore.Response, body: _Body | _AsyncBody) -> httpx.Response:
    return httpx.Response(
        answer.status, headers=answer.headers, stream=body, extensions=answer.extensions
    )


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of httpcore, and a deadline that has passed, as errors of httpx."""
    try:
        yield
    except TimeoutError as error:
        raise httpx.ReadTimeout("The time for the whole request is over.") from error
    except CORE_ERRORS as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error


def read_json(answer: httpx.Response) -> Any:
    """Read the JSON of an answer.

    Raises:
        ValueError: it is not JSON, or nested so deeply that Python gives up.
    """
    try:
        return load_json(answer.content)
    except Malformed as error:
        raise ValueError(error.detail) from error


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Parse ``Retry-After`` in either form of RFC 9110 (10.2.3) to seconds."""
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
