"""Callbacks of django-axes, which counts failed sign-ins."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from access.client_address import get_client_address


def list_parameters(request: HttpRequest, credentials: Any = None) -> list[str]:
    """The parameters by which failures are counted."""
    return ["username"] if get_client_address(request) is None else ["username", "ip_address"]


def answer_locked_out(request: HttpRequest, *args: Any) -> HttpResponse:
    wait_seconds = int(settings.AXES_COOLOFF_TIME.total_seconds())
    context = {"minutes": wait_seconds // 60}
    response = render(request, "account/locked_out.html", context, status=429)
    response["Retry-After"] = str(wait_seconds)
    return response
