"""HTTP clients for addresses that an operator gives: webhook receivers, models, OpenID providers.

A name that resolves to a private address is refused unless ``STRATA_PRIVATE_HOSTS`` names it:
otherwise whoever controls the name's DNS could have Strata send requests into the network behind
it. The client connects to the address that was checked, so the name cannot resolve to another one
in between. A request that the environment sends through a proxy is not checked: the proxy resolves
the name and decides. ``NO_PROXY`` names the hosts that are asked directly, and so are checked.
"""

import asyncio
import socket
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx
from django.conf import settings


class PrivateAddressRefused(httpx.ConnectError):
    """A host resolves to an address that is not public."""


def make_client(**options: Any) -> httpx.Client:
    """A client of httpx with these options, whose transport checks addresses."""
    transport = _CheckedTransport(options.pop("verify", True))
    return httpx.Client(transport=transport, **options)


def make_async_client(**options: Any) -> httpx.AsyncClient:
    """As ``make_client``."""
    transport = _AsyncCheckedTransport(options.pop("verify", True))
    return httpx.AsyncClient(transport=transport, **options)


class _CheckedTransport(httpx.HTTPTransport):
    def __init__(self, verify: Any) -> None:
        super().__init__(verify=verify)
        self._proxied = {
            scheme: httpx.HTTPTransport(verify=verify, proxy=proxy)
            for scheme, proxy in _get_proxies().items()
        }

    def close(self) -> None:
        super().close()
        for transport in self._proxied.values():
            transport.close()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if host and request.url.scheme in self._proxied and not proxy_bypass(host):
            return self._proxied[request.url.scheme].handle_request(request)
        if not host:  # httpx raises an error that names the problem
            return super().handle_request(request)
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError as error:
            raise _make_resolution_error(host, error) from error
        addresses = _check_addresses(host, found)
        for address in addresses[:-1]:
            try:
                return super().handle_request(_address_to(address, request))
            except httpx.ConnectError:
                continue
        return super().handle_request(_address_to(addresses[-1], request))


class _AsyncCheckedTransport(httpx.AsyncHTTPTransport):
    def __init__(self, verify: Any) -> None:
        super().__init__(verify=verify)
        self._proxied = {
            scheme: httpx.AsyncHTTPTransport(verify=verify, proxy=proxy)
            for scheme, proxy in _get_proxies().items()
        }

    async def aclose(self) -> None:
        await super().aclose()
        for transport in self._proxied.values():
            await transport.aclose()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if host and request.url.scheme in self._proxied and not proxy_bypass(host):
            return await self._proxied[request.url.scheme].handle_async_request(request)
        if not host:  # httpx raises an error that names the problem
            return await super().handle_async_request(request)
        try:
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError as error:
            raise _make_resolution_error(host, error) from error
        addresses = _check_addresses(host, found)
        for address in addresses[:-1]:
            try:
                return await super().handle_async_request(_address_to(address, request))
            except httpx.ConnectError:
                continue
        return await super().handle_async_request(_address_to(addresses[-1], request))


def _get_proxies() -> dict[str, str]:
    """The scheme of requests -> the proxy that the environment names for them."""
    named = getproxies()
    proxies = {scheme: named.get(scheme) or named.get("all") for scheme in ("http", "https")}
    return {
        scheme: proxy if "://" in proxy else f"http://{proxy}"
        for scheme, proxy in proxies.items()
        if proxy
    }


def _check_addresses(host: str, found: list[Any]) -> list[str]:
    """The addresses of a host, as ``getaddrinfo`` found them.

    Raises:
        PrivateAddressRefused: one of them is not public, and the settings do not name the host.
    """
    addresses = [str(sockaddr[0]) for *_, sockaddr in found]
    if host not in settings.STRATA_PRIVATE_HOSTS:
        for address in addresses:
            if not _is_public(address):
                raise PrivateAddressRefused(
                    f"{host} has the private address {address}. Add {host} to "
                    "STRATA_PRIVATE_HOSTS to allow it."
                )
    return addresses


def _is_public(address: str) -> bool:
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.is_global and not ip.is_multicast


def _make_resolution_error(host: str, error: OSError) -> httpx.ConnectError:
    return httpx.ConnectError(f"The name {host} cannot be resolved: {error}")


def _address_to(address: str, request: httpx.Request) -> httpx.Request:
    """The request to this address; its Host header and the name in its TLS handshake stay."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
