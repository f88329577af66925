"""Callbacks of django-axes, which counts failed sign-ins."""

from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def get_address(request: HttpRequest) -> str | None:
    """The client's address: behind a proxy the one that it added last to its header, and None if
    it sends none, because the connections of all clients then come from the proxy."""
    header = settings.STRATA_CLIENT_ADDRESS_HEADER
    text = str(request.META.get(header or "REMOTE_ADDR", "")).rpartition(",")[2].strip()
    try:
        return str(ip_address(text))
    except ValueError:
        return None


def list_parameters(request: HttpRequest, credentials: Any = None) -> list[str]:
    """The parameters by which failures are counted."""
    return ["username"] if get_address(request) is None else ["username", "ip_address"]


def answer_locked_out(request: HttpRequest, *args: Any) -> HttpResponse:
    wait_seconds = int(settings.AXES_COOLOFF_TIME.total_seconds())
    context = {"minutes": wait_seconds // 60}
    response = render(request, "locked_out.html", context, status=429)
    response["Retry-After"] = str(wait_seconds)
    return response
