"""Middleware: the Content-Security-Policy of every answer, and the limit of each request's body."""

from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from access.permissions import check_scope
from access.request_throttle import get_holder
from access.usage_limits import has_sent_too_many
from core.exceptions import StrataError

HEADER: Final = "Content-Security-Policy"
_WITHOUT_STYLES: Final = (
    "default-src 'none'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
)
POLICY: Final = _WITHOUT_STYLES + "style-src 'self'"
# Chromium also applies ``form-action`` to the address to which the answer to a form redirects.
_ANY_TARGET: Final = "form-action 'self' https: http:"
POLICY_WITH_REDIRECTS: Final = POLICY.replace("form-action 'self'", _ANY_TARGET)
POLICY_WITH_STYLES: Final = _WITHOUT_STYLES + "style-src 'self' 'unsafe-inline'"


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """A view that sets the header itself keeps its own policy. The page with a form that
    leads to another site sets ``is_form_redirected`` on its answer."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_form_redirected = getattr(response, "is_form_redirected", False)
        policy = POLICY_WITH_REDIRECTS if is_form_redirected else POLICY
        response.headers.setdefault(HEADER, policy)
        return response


class CookiePathMiddleware(MiddlewareMixin):
    """Cookies are for the path of the service only; other paths of the host may be others'."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        for cookie in response.cookies.values():
            if cookie["path"] == "/":
                cookie["path"] = f"{request.META['SCRIPT_NAME']}/"
        return response


BODY_IS_PENDING: Final = "strata.body_is_pending"  # a key of the environ


class BodyWanted(HttpResponse):
    """The view accepts a body of at most ``max_bytes``."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.max_bytes = max_bytes


class BodyLimitMiddleware(MiddlewareMixin):
    """A view that accepts more than ``STRATA_MAX_REQUEST_BYTES`` defines
    ``max_body_bytes(content_type)`` on its class."""

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        if BODY_IS_PENDING not in request.META:
            return None
        if hasattr(view, "cls") and not _is_allowed(view, request):
            return None  # the view answers 401, 403, 405 or 429
        limit = settings.STRATA_MAX_REQUEST_BYTES
        if hasattr(view, "cls") and hasattr(view.cls, "max_body_bytes"):
            limit = view.cls.max_body_bytes(request.content_type or "")
        elif not hasattr(view, "cls") and request.user.is_staff:
            limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE  # a form of the admin
        return BodyWanted(limit)


def _is_allowed(view: Any, request: HttpRequest) -> bool:
    method = str(request.method).lower()
    operation = view.actions.get(method, "") if hasattr(view, "actions") else method
    if not hasattr(view.cls, operation):
        return False
    authenticators = [each() for each in view.cls.authentication_classes]
    api_request = Request(request, authenticators=authenticators)
    try:
        check_scope(api_request, view.cls, operation)
    except (APIException, StrataError):
        return False
    return not has_sent_too_many(get_holder(api_request))
