"""Map exceptions to HTTP responses; ``HTTP_STATUS`` is the one table.

Every error under ``/api/`` is ``{code, detail, field?, allowed?, fix?}``.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from django.core.exceptions import (
    BadRequest,
    DisallowedHost,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from kombu.exceptions import OperationalError as BrokerError
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from access.authentication import get_grant
from access.exceptions import LimitReached
from core.exceptions import (
    MAX_ERROR_CHARS,
    BodyTimeout,
    Conflict,
    DiskFull,
    Forbidden,
    InvalidInput,
    StrataError,
    TooLarge,
    Unavailable,
    Unknown,
    Unprocessable,
)
from core.expected_errors import answered_errors, is_database_unavailable
from core.serializers import make_error_json, to_invalid_input
from core.text import shorten
from indexing.exceptions import EmbeddingMismatch, StoreRejected
from language_models.exceptions import LanguageModelError

T = TypeVar("T")

RETRY_AFTER_SECONDS = 5  # sent to callers if the error does not give a time

# A class that is not listed has the status of its nearest listed base class.
HTTP_STATUS: dict[type[StrataError], int] = {
    InvalidInput: 400,
    Forbidden: 403,
    Unknown: 404,
    BodyTimeout: 408,
    Conflict: 409,
    TooLarge: 413,
    Unprocessable: 422,
    LimitReached: 429,
    EmbeddingMismatch: 500,
    StoreRejected: 502,
    LanguageModelError: 502,
    Unavailable: 503,
    DiskFull: 507,
}

DRF_CODE_OVERRIDES = {"parse_error": "malformed"}  # DRF's code -> ours

# Errors of Django and of the message broker -> status, code and detail.
OTHER_ERRORS: dict[type[Exception], tuple[int, str, str]] = {
    BadRequest: (400, "malformed", "The request cannot be read."),
    MultiPartParserError: (400, "malformed", "The request cannot be read."),
    SuspiciousOperation: (400, "malformed", "The request cannot be read."),
    UnreadablePostError: (400, "malformed", "The request cannot be read."),
    DisallowedHost: (
        400,
        "malformed",
        "The service does not know this host name. Add it to ALLOWED_HOSTS.",
    ),
    PermissionDenied: (403, "permission_denied", "You do not have permission to do this."),
    Http404: (404, "not_found", "There is nothing at this address."),
    RequestDataTooBig: (413, "too_large", "The request body is larger than the limit."),
    InterfaceError: (503, "database_unavailable", "The database did not answer; try again."),
    OperationalError: (503, "database_unavailable", "The database did not answer; try again."),
    BrokerError: (
        503,
        "broker_unavailable",
        "The message broker did not answer, so this request may not have been saved.",
    ),
}


def http_status(error: StrataError) -> int:
    return _find_nearest(HTTP_STATUS, error) or 500


def _find_nearest(table: Mapping[Any, T], error: Exception) -> T | None:
    """What a table has for the class of an error, or for its nearest base class."""
    return next((table[each] for each in type(error).__mro__ if each in table), None)


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook. None for an unexpected exception: Django logs it and calls ``handler500``."""
    if isinstance(error, StrataError) and "request" in context:
        _hide_indexes(error, context["request"])
    response = _translate_error(error)
    if response is not None:
        set_rollback()
    return response


def _hide_indexes(error: StrataError, request: Request) -> None:
    """Leave out the names of indexes that the request may not see."""
    if error.field == "index" and error.allowed is not None:
        error.allowed = [name for name in error.allowed if get_grant(request).includes(name)]


def _translate_error(error: Exception) -> Response | None:
    if isinstance(error, exceptions.ValidationError):
        error = to_invalid_input(error.detail)
    if isinstance(error, StrataError):
        status = http_status(error)
        if status >= 500:
            answered_errors.error("%s: %s", error.code, error)
        wait = math.ceil(error.retry_after or RETRY_AFTER_SECONDS)
        return _make_response(status, make_error_json(error), wait)
    if isinstance(error, exceptions.APIException):
        return _translate_drf_error(error)
    if is_database_unavailable(error):
        found = OTHER_ERRORS[OperationalError]
    elif (nearest := _find_nearest(OTHER_ERRORS, error)) is not None:
        found = nearest
    else:
        return None
    status, code, detail = found
    if status >= 500:
        answered_errors.error(detail, exc_info=error)
    return _make_response(status, {"code": code, "detail": detail})


def _translate_drf_error(error: exceptions.APIException) -> Response:
    response = drf_exception_handler(error, {})
    assert response is not None
    code, detail = error.default_code, shorten(str(error.detail), MAX_ERROR_CHARS)
    if isinstance(error.detail, exceptions.ErrorDetail):
        code = error.detail.code or code
    response.data = {"code": DRF_CODE_OVERRIDES.get(code, code), "detail": detail}
    return response


def _make_response(
    status: int, content: dict[str, Any], wait: int = RETRY_AFTER_SECONDS
) -> Response:
    headers = {"Retry-After": str(wait)} if status in {429, 503} else {}
    return Response(content, status=status, headers=headers)


# --- Errors outside the API's views ----------------------------------------------------------


class StrataErrorMiddleware(MiddlewareMixin):
    """Answers an error of Strata that a page raises, such as the login."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return answer_error(request, error) if isinstance(error, StrataError) else None


def answer_error(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler of 400, 403 and 404."""
    translated = _translate_error(exception)
    assert translated is not None
    response = _render(request, translated.status_code, translated.data)
    if "Retry-After" in translated.headers:
        response["Retry-After"] = translated.headers["Retry-After"]
    return response


def handler500(request: HttpRequest) -> HttpResponse:
    detail = "Something went wrong on the server; it has been logged."
    return _render(request, 500, {"code": "server_error", "detail": detail})


# Others are plain text: a page needs the database.
_HEADINGS = {403: "Not allowed", 404: "Not found"}


def _render(request: HttpRequest, status: int, content: Mapping[str, Any]) -> HttpResponse:
    if request.path_info.startswith("/api/"):
        return JsonResponse(content, status=status)
    text = f"{content['detail']} {content.get('fix', '')}".strip()
    if status in _HEADINGS and "text/html" in request.headers.get("Accept", ""):
        context = {"status": status, "heading": _HEADINGS[status], "text": text}
        return render(request, "error.html", context, status=status)
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
