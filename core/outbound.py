"""HTTP clients for addresses that an operator gives: webhook receivers, models, OpenID providers.

A name that resolves to a private address is refused unless ``STRATA_PRIVATE_HOSTS`` names it:
otherwise whoever controls the name's DNS could have Strata send requests into the network behind
it. The client connects to the address that was checked, so the name cannot resolve to another one
in between. A request that a proxy of the environment carries is not checked: the proxy resolves the
name and decides."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import IPv6Address, ip_address
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx
from django.conf import settings

T = TypeVar("T")


class PrivateAddressRefused(httpx.ConnectError):
    """A host resolves to an address that is not public."""


def make_client(*, verify: Any = True, **options: Any) -> httpx.Client:
    """A client of httpx with these options, whose transport checks addresses."""
    direct = _CheckedTransport(verify=verify)
    mounts = _mount_proxies(_ProxyTransport, direct, verify)
    return httpx.Client(transport=direct, mounts=mounts, **options)


def make_async_client(*, verify: Any = True, **options: Any) -> httpx.AsyncClient:
    """As ``make_client``."""
    direct = _AsyncCheckedTransport(verify=verify)
    mounts = _mount_proxies(_AsyncProxyTransport, direct, verify)
    return httpx.AsyncClient(transport=direct, mounts=mounts, **options)


def _mount_proxies(transport: Callable[..., T], direct: Any, verify: Any) -> dict[str, T]:
    """A transport for each proxy of the environment, by the pattern of the URLs that it is for."""
    proxies = getproxies()
    return {
        f"{scheme}://": transport(
            direct, verify=verify, proxy=proxy if "://" in proxy else f"http://{proxy}"
        )
        for scheme in ("http", "https", "all")
        if (proxy := proxies.get(scheme))
    }


class _CheckedTransport(httpx.HTTPTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        *first, last = _check_addresses(request)
        for each in first:
            with suppress(httpx.ConnectError):
                return super().handle_request(each)
        return super().handle_request(last)


class _AsyncCheckedTransport(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        *first, last = await asyncio.to_thread(_check_addresses, request)
        for each in first:
            with suppress(httpx.ConnectError):
                return await super().handle_async_request(each)
        return await super().handle_async_request(last)


class _ProxyTransport(httpx.HTTPTransport):
    def __init__(self, direct: _CheckedTransport, **options: Any) -> None:
        super().__init__(**options)
        self.direct = direct

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if proxy_bypass(request.url.host):  # NO_PROXY names it
            return self.direct.handle_request(request)
        return super().handle_request(request)


class _AsyncProxyTransport(httpx.AsyncHTTPTransport):
    def __init__(self, direct: _AsyncCheckedTransport, **options: Any) -> None:
        super().__init__(**options)
        self.direct = direct

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if proxy_bypass(request.url.host):  # NO_PROXY names it
            return await self.direct.handle_async_request(request)
        return await super().handle_async_request(request)


def _check_addresses(request: httpx.Request) -> list[httpx.Request]:
    """The request, sent to each address of its host.

    Raises:
        ConnectError: the host cannot be resolved.
        PrivateAddressRefused: an address is not public, and the settings do not name the host.
    """
    host = request.url.host
    if not host:  # httpx raises an error that names the problem
        return [request]
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpx.ConnectError(f"The name {host} cannot be resolved: {error}") from error
    addresses = [str(sockaddr[0]) for *_, sockaddr in found]
    if host not in settings.STRATA_PRIVATE_HOSTS:
        for address in addresses:
            if not _is_public(address):
                raise PrivateAddressRefused(
                    f"{host} has the private address {address}. Add {host} to "
                    "STRATA_PRIVATE_HOSTS to allow it."
                )
    return [_address_to(address, request) for address in addresses]


def _is_public(address: str) -> bool:
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.is_global and not ip.is_multicast


def _address_to(address: str, request: httpx.Request) -> httpx.Request:
    """The request to this address; its Host header and the name in its TLS handshake stay."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


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
