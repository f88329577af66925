"""One line in the log for each request, with an id that all lines of the request carry.

No line holds a text, a query or a key: of the path, only ids and names of indexes are logged.
"""

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.metrics import count_request
from core.request_id import request_id
from core.routes import describe_route

logger = logging.getLogger("strata.requests")

HEADER = "X-Request-ID"
_LOGGED_PATH_VALUES = {"index", "artifact_id", "number"}
_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)


class RequestLogMiddleware:
    """Gives each request an id, that of its header if it has one, and counts, times and logs it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started_at = time.perf_counter()
        given = request.headers.get(HEADER, "")
        token = request_id.set(given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex)
        try:
            response = self.get_response(request)
            response[HEADER] = request_id.get()
            if request.resolver_match is not None:  # else a static file or an unknown path
                seconds = time.perf_counter() - started_at
                count_request(request, response.status_code, seconds)
                _log(request, response.status_code, seconds)
            return response
        finally:
            request_id.reset(token)


def _log(request: HttpRequest, status: int, seconds: float) -> None:
    if not logger.isEnabledFor(logging.INFO):
        return
    assert request.resolver_match is not None
    method, route = describe_route(request)
    kwargs = request.resolver_match.kwargs
    # Authentication has set it there. Elsewhere it would be read from the database only now.
    user = request.user if route.startswith(("/api/v1/", "/v1/")) else None
    facts = {
        "method": method,
        "route": route,
        "status": status,
        "milliseconds": round(seconds * 1_000, 1),
        "key_id": getattr(user, "key_id", None),
        "user_id": getattr(user, "pk", None),
        **{name: str(kwargs[name]) for name in _LOGGED_PATH_VALUES & kwargs.keys()},
    }
    logger.info("%s %s %d in %.1f ms", method, route, status, seconds * 1_000, extra=facts)
