"""Connections to other hosts, whose addresses are checked first. No step takes longer than
the request has left."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from ssl import SSLContext
from typing import Any, Final

import httpcore
import httpx
from django.conf import settings

from core.addresses import is_public, look_up

CheckAddresses = Callable[[str, list[str]], None]

WRITE_BYTES: Final = 2**14  # written in one step, which has a time limit of its own


class PrivateAddressRefused(httpx.ConnectError):
    """A host resolves to an address that is not public."""


_ends_at: ContextVar[float] = ContextVar("ends_at")  # of the request for which this thread waits


@contextmanager
def until(ends_at: float) -> Iterator[None]:
    token = _ends_at.set(ends_at)
    try:
        yield
    finally:
        _ends_at.reset(token)


def _limit(timeout: float | None) -> float:
    """The seconds that a step may take.

    Raises:
        TimeoutError: the time for the whole request is over.
    """
    left = _ends_at.get() - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left if timeout is None else min(left, timeout)


class _Stream(httpcore.NetworkStream):
    """A connection on which no step takes longer than the request has left. An event loop needs
    none: it interrupts the request."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _limit(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), WRITE_BYTES):
            self._stream.write(buffer[start : start + WRITE_BYTES], _limit(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _limit(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class Backend(httpcore.SyncBackend):
    """Connects to the addresses of a host, after they were checked."""

    def __init__(self, check: CheckAddresses) -> None:
        self._check = check

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        with _resolving(host):
            addresses = look_up(host).result(_limit(timeout))
        self._check(host, addresses)
        *first, last = addresses
        for address in first:
            with suppress(httpcore.ConnectError):
                return _Stream(super().connect_tcp(address, port, _limit(timeout)))
        return _Stream(super().connect_tcp(last, port, _limit(timeout)))


class AsyncBackend(httpcore.AnyIOBackend):
    """As ``Backend``."""

    def __init__(self, check: CheckAddresses) -> None:
        self._check = check

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        with _resolving(host):
            async with asyncio.timeout(timeout):
                addresses = await asyncio.wrap_future(look_up(host))
        self._check(host, addresses)
        *first, last = addresses
        for address in first:
            with suppress(httpcore.ConnectError):
                return await super().connect_tcp(address, port, timeout)
        return await super().connect_tcp(last, port, timeout)


@contextmanager
def _resolving(host: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise httpx.ConnectTimeout(f"The name {host} was not resolved in time.") from error
    except (OSError, ValueError) as error:
        raise httpx.ConnectError(f"The name {host} cannot be resolved: {error}") from error


def is_named_private(host: str) -> bool:
    """Whether ``STRATA_PRIVATE_HOSTS`` names it, an IPv6 address with its brackets or without, and
    a name with other letters than ASCII as people write it."""
    spellings = {host, f"[{host}]", httpx.URL(scheme="http", host=host).host}
    return not spellings.isdisjoint(settings.STRATA_PRIVATE_HOSTS)


def allow_any(host: str, addresses: list[str]) -> None:
    """Of a proxy, which the operator names."""


def allow_named(host: str, addresses: list[str]) -> None:
    if not is_named_private(host):
        allow_public(host, addresses, f" Add {host} to STRATA_PRIVATE_HOSTS to allow it.")


def allow_public(host: str, addresses: list[str], fix: str = "") -> None:
    for address in addresses:
        if not is_public(address):
            raise PrivateAddressRefused(f"{host} has the private address {address}.{fix}")
