"""Sends a Content-Security-Policy with every answer: pages load nothing from other origins, run no
inline scripts, and cannot be framed."""

from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

HEADER: Final = "Content-Security-Policy"
_WITHOUT_STYLES: Final = (
    "default-src 'none'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
)
POLICY: Final = _WITHOUT_STYLES + "style-src 'self'"
POLICY_WITH_STYLES: Final = _WITHOUT_STYLES + "style-src 'self' 'unsafe-inline'"


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """A view that sets the header itself keeps its own policy."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        response.headers.setdefault(HEADER, POLICY)
        return response
