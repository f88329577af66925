"""What a proxy says of a request that it passes on: the path below which it serves the service, and
whether its client uses TLS.

    STRATA_BASE_PATH, or X-Forwarded-Prefix of a trusted proxy -> root_path of ASGI -> SCRIPT_NAME
    X-Forwarded-Proto of a trusted proxy                       -> scheme of ASGI
"""

from ipaddress import IPv6Address, ip_address
from typing import Any

from django.conf import settings

from config.environment import BASE_PATH

HEADERS = (b"x-forwarded-prefix", b"x-forwarded-proto")


def apply_proxy_headers(scope: dict[str, Any]) -> dict[str, Any]:
    """The ASGI scope as the client named the service, whether or not the proxy has removed the path
    of the service from that of the request."""
    said = _read_headers(scope)
    if said.get(b"x-forwarded-proto") == "https":
        scope = scope | {"scheme": "https"}
    prefix = said.get(b"x-forwarded-prefix", "").rstrip("/")
    base = settings.STRATA_BASE_PATH or (prefix if BASE_PATH.fullmatch(prefix) else "")
    if not base:
        return scope
    path, raw_path = scope["path"], scope["raw_path"]
    if f"{raw_path.decode('latin-1')}/".startswith(f"{base}/"):
        path, raw_path = path.removeprefix(base), raw_path[len(base) :]
    placed = {"root_path": base, "path": base + path, "raw_path": base.encode() + raw_path}
    return scope | placed


def _read_headers(scope: dict[str, Any]) -> dict[bytes, str]:
    """The values that the sender of the request added last, if it is a trusted proxy."""
    found = {name: value for name, value in scope["headers"] if name in HEADERS}
    if not found or not _is_trusted((scope["client"] or ("", 0))[0]):
        return {}
    return {
        name: value.decode("latin-1").rpartition(",")[2].strip() for name, value in found.items()
    }


def _is_trusted(peer: str) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return any(address in network for network in settings.STRATA_TRUSTED_PROXIES)
