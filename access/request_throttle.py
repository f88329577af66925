"""Counts the requests of each key, user and address, as Django REST framework's throttling."""

from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from access.authentication import ApiKeyUser
from access.client_address import get_client_address
from access.usage_limits import THIS_SERVER, count_request


def get_holder(request: Request) -> str:
    """Whose limits the request has: a key, a user or a stranger's address; strangers whose address
    a proxy does not pass on share one. A key and a user of the
    same name differ, and neither can pass for the server's own key."""
    user = request.user
    if user is None:
        return f"address {get_client_address(request) or 'unknown'}"
    if not isinstance(user, ApiKeyUser):
        return f"user {user}"
    return THIS_SERVER if user.key_id is None else f"key {user}"


class RequestLimit(BaseThrottle):
    """Refuses requests over the limit with a ``StrataError``, which has a code."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count the request, and refuse it above the limit.

        Raises:
            TooManyRequests: as ``count_request``.
        """
        if settings.STRATA_KEY_REQUESTS_PER_MINUTE:
            count_request(get_holder(request))
        return True
