"""Callbacks of django-axes, which counts failed sign-ins."""

from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from access.client_address import get_client_address


def list_parameters(request: HttpRequest, credentials: Any = None) -> list[str]:
    """The parameters by which failures lock out: the name, and the address once it has many, with
    several names."""
    address = get_client_address(request)
    if address is None:
        return ["username"]
    recent = AccessAttempt.objects.filter(
        ip_address=address, attempt_time__gte=timezone.now() - settings.AXES_COOLOFF_TIME
    )
    failures = recent.aggregate(sum=Sum("failures_since_start"))["sum"] or 0
    has_many = failures >= settings.STRATA_ADDRESS_SIGN_IN_FAILURES
    return ["username", "ip_address"] if has_many else ["username"]


def answer_locked_out(request: HttpRequest, *args: Any) -> HttpResponse:
    wait_seconds = int(settings.AXES_COOLOFF_TIME.total_seconds())
    context = {"minutes": wait_seconds // 60}
    response = render(request, "account/locked_out.html", context, status=429)
    response["Retry-After"] = str(wait_seconds)
    return response
