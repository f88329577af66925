"""Names of hosts and their addresses: looked up within a time, and told apart into public ones and
those of a private network."""

import socket
import threading
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from typing import Final

# What is assigned for use in the whole Internet (IANA, "IPv6 Global Unicast Address Assignments").
# Outside are, among others, site-local addresses and the ways to write an IPv4 address as IPv6.
_GLOBAL_IPV6: Final = IPv6Network("2000::/3")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")  # contains any IPv4 address; obsolete (RFC 7526)
_DOCUMENTATION: Final = IPv6Network("3fff::/20")  # RFC 9637
# The last 64 bits of an ISATAP address (RFC 5214): one of these, then an IPv4 address.
_ISATAP: Final = (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))
_NOT_INTERNET_IPV4: Final = (
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    IPv4Network("192.0.0.0/24"),  # IETF protocols; clouds answer there, too
    IPv4Network("168.63.129.16/32"),  # Azure answers there inside each virtual machine
)
_NAT64: Final = IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address


def look_up(host: str) -> Future[list[str]]:
    """The addresses of a host, in the order in which they should be tried.

    The system's resolver cannot be interrupted and may take a minute, so it runs in a thread that
    nobody has to wait for, not even an event loop or a process that ends.

    The result raises:
        OSError, ValueError: the host cannot be resolved.
    """
    found: Future[list[str]] = Future()

    def ask_resolver() -> None:
        found.set_running_or_notify_cancel()
        try:
            answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            found.set_result([str(sockaddr[0]) for *_, sockaddr in answers])
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            found.set_exception(error)

    threading.Thread(target=ask_resolver, name="resolver", daemon=True).start()
    return found


def is_public(address: str) -> bool:
    """Whether it leads into the Internet. An IPv4 address in one of NAT64 counts as itself."""
    ip = ip_address(address)
    if isinstance(ip, IPv4Address):
        special = any(ip in network for network in _NOT_INTERNET_IPV4)
        return ip.is_global and not ip.is_multicast and not special
    if ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    if ip in _NAT64:
        return is_public(str(IPv4Address(ip.packed[-4:])))
    special = ip in _SIX_TO_FOUR or ip in _DOCUMENTATION or ip.packed[8:12] in _ISATAP
    return ip.is_global and ip in _GLOBAL_IPV6 and not special
