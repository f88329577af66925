"""The address from which a request comes."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request


def get_client_address(request: HttpRequest | Request) -> str | None:
    """The client's address: behind a proxy the one that it added last to its header, and None if
    it sends none, because the connections of all clients then come from the proxy."""
    header = settings.STRATA_CLIENT_ADDRESS_HEADER
    text = str(request.META.get(header or "REMOTE_ADDR", "")).rpartition(",")[2].strip()
    try:
        return str(ip_address(text))
    except ValueError:
        return None
