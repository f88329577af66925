"""Map exceptions to HTTP responses; ``HTTP_STATUS`` is the one table.

Every error under ``/api/`` is ``{code, detail, field?, allowed?, fix?}``.
"""

import logging
import math
from typing import Any

from django.core.exceptions import (
    BadRequest,
    DisallowedHost,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError
from django.utils.deprecation import MiddlewareMixin
from kombu.exceptions import OperationalError as BrokerError
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from access.all_documents import AllDocumentsNeeded, AllIndexesNeeded
from access.authentication import get_grant
from access.exceptions import (
    LastManager,
    LimitReached,
    MissingScope,
    ModelUseSpent,
    SuperuserNeeded,
    TooManyJobs,
    TooManyLogins,
    TooManyRequests,
    TooManyStreamsOfKey,
    UnknownKey,
    UnknownPerson,
)
from audit.exceptions import AuditUnavailable
from concepts.exceptions import (
    HiddenRelationships,
    UnknownConcept,
    UnknownEmergentPair,
    UnknownInstance,
    UnknownRelationship,
    UnknownRelationshipType,
)
from core.exceptions import (
    BodyTimeout,
    DiskFull,
    InvalidInput,
    StrataError,
    TooLarge,
    TooManyStreams,
    UnknownIndex,
)
from core.expected_errors import is_database_unavailable
from core.serializers import make_error_json, to_invalid_input
from documents.exceptions import (
    AddressUnavailable,
    ContentConflict,
    DocumentHeld,
    OriginalsUnavailable,
    PagesBusy,
    ReaderUnavailable,
    ScannerUnavailable,
    UnknownArtifact,
    Unparsable,
)
from evaluation.exceptions import UnknownJudgement, UnknownRun
from indexing.exceptions import (
    BuildUnfinished,
    EmbeddingMismatch,
    EmbeddingUnavailable,
    InvalidSpec,
    ModelLoading,
    ModelUnavailable,
    NotYetIndexed,
    PointsLost,
    SpecNotWritten,
    StoreBusy,
    StoreLocked,
    StoreOutcomeUnknown,
    StoreRefused,
    StoreRejected,
    StoreUnavailable,
    TooManyNodes,
    UnchunkableText,
    UnknownBuild,
    UnreadableRecipe,
    WrongBuildState,
)
from retrieval.exceptions import (
    InvalidPipeline,
    UnavailableTool,
    UnknownPipeline,
    UnknownSource,
    UnknownTool,
)
from summaries.exceptions import (
    InvalidCompletion,
    LanguageModelBusy,
    LanguageModelError,
    LanguageModelMisconfigured,
    LanguageModelMissing,
    LanguageModelRefused,
    LanguageModelUnavailable,
)
from webhooks.exceptions import NoReceiver

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 5  # sent to callers if the error does not give a time

# A subclass that is not listed has the status of its nearest listed base class.
HTTP_STATUS: dict[type[StrataError], int] = {
    InvalidInput: 400,
    TooLarge: 413,
    BodyTimeout: 408,
    TooManyStreams: 503,
    LimitReached: 429,
    TooManyRequests: 429,
    TooManyStreamsOfKey: 429,
    TooManyJobs: 429,
    ModelUseSpent: 429,
    TooManyLogins: 503,
    MissingScope: 403,
    UnknownKey: 404,
    UnknownPerson: 404,
    SuperuserNeeded: 403,
    LastManager: 409,
    AuditUnavailable: 503,
    AllDocumentsNeeded: 403,
    UnknownIndex: 404,
    UnknownArtifact: 404,
    UnknownBuild: 404,
    UnknownSource: 404,
    UnknownTool: 404,
    UnknownPipeline: 404,
    UnknownRun: 404,
    UnknownJudgement: 404,
    UnknownConcept: 404,
    UnknownInstance: 404,
    UnknownEmergentPair: 404,
    UnknownRelationship: 404,
    UnknownRelationshipType: 404,
    ContentConflict: 409,
    DocumentHeld: 409,
    HiddenRelationships: 409,
    WrongBuildState: 409,
    SpecNotWritten: 409,
    AllIndexesNeeded: 403,
    NoReceiver: 409,
    BuildUnfinished: 409,
    UnavailableTool: 409,
    NotYetIndexed: 409,
    Unparsable: 422,
    PagesBusy: 503,
    AddressUnavailable: 503,
    ReaderUnavailable: 503,
    ScannerUnavailable: 503,
    OriginalsUnavailable: 503,
    UnchunkableText: 422,
    TooManyNodes: 422,
    DiskFull: 507,
    StoreUnavailable: 503,
    StoreOutcomeUnknown: 503,
    StoreBusy: 503,
    StoreRefused: 503,
    StoreRejected: 502,
    StoreLocked: 503,
    PointsLost: 503,
    EmbeddingUnavailable: 503,
    ModelLoading: 503,
    ModelUnavailable: 503,
    LanguageModelBusy: 503,
    LanguageModelUnavailable: 503,
    LanguageModelMissing: 503,
    LanguageModelMisconfigured: 503,
    LanguageModelRefused: 422,
    InvalidCompletion: 502,
    LanguageModelError: 502,
    InvalidSpec: 422,
    UnreadableRecipe: 503,
    EmbeddingMismatch: 500,
    InvalidPipeline: 422,
}

# DRF's codes that are replaced by ours.
DRF_CODE_OVERRIDES = {"parse_error": "malformed"}


def http_status(error: StrataError) -> int:
    for ancestor in type(error).__mro__:
        if ancestor in HTTP_STATUS:
            return HTTP_STATUS[ancestor]
    return 500


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
            logger.error("%s: %s", error.code, error)
        wait = math.ceil(error.retry_after or RETRY_AFTER_SECONDS)
        headers = {"Retry-After": str(wait)} if status in {429, 503} else {}
        return Response(make_error_json(error), status=status, headers=headers)
    if isinstance(error, (OperationalError, InterfaceError)) or is_database_unavailable(error):
        logger.exception("The database did not answer")
        return _service_unavailable(
            "database_unavailable", "The database did not answer; try again."
        )
    if isinstance(error, BrokerError):
        logger.error("The broker did not answer: %s", error)
        return _service_unavailable(
            "broker_unavailable",
            "The message broker did not answer, so this request may not have been saved.",
        )
    if isinstance(error, exceptions.APIException):
        return _drf_error_response(error)
    if isinstance(error, Http404):
        return _error_response(404, "not_found", "There is nothing at this address.")
    if isinstance(error, DjangoPermissionDenied):
        return _error_response(
            403, "permission_denied", str(error) or "You do not have permission to do this."
        )
    if isinstance(error, RequestDataTooBig):
        return _error_response(413, "too_large", "The request body is larger than the limit.")
    if isinstance(error, (SuspiciousOperation, BadRequest, UnreadablePostError)):
        return _error_response(400, "malformed", "The request cannot be read.")
    return None


def _service_unavailable(code: str, detail: str) -> Response:
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return Response({"code": code, "detail": detail}, status=503, headers=headers)


def _drf_error_response(error: exceptions.APIException) -> Response:
    headers = {}
    if auth_header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = auth_header
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    code, detail = error.default_code, str(error.detail)
    if isinstance(error.detail, exceptions.ErrorDetail):
        code = error.detail.code or code
    content = {"code": DRF_CODE_OVERRIDES.get(code, code), "detail": detail}
    return Response(content, status=error.status_code, headers=headers)


def _error_response(status: int, code: str, detail: str) -> Response:
    return Response({"code": code, "detail": detail}, status=status)


# --- Errors outside the API's views ----------------------------------------------------------


class StrataErrorMiddleware(MiddlewareMixin):
    """Answers an error of Strata that a page raises, such as the login."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, StrataError):
            return None
        described = _translate_error(error)
        assert described is not None
        response = _render_django_error(
            request, described.status_code, error.code, error.with_fix()
        )
        if "Retry-After" in described.headers:
            response["Retry-After"] = described.headers["Retry-After"]
        return response


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, DisallowedHost):
        detail = "The service does not know this host name. Add it to ALLOWED_HOSTS."
        return _render_django_error(request, 400, "malformed", detail)
    return _render_django_error(request, 400, "malformed", "The request cannot be read.")


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render_django_error(
        request, 403, "permission_denied", "You do not have permission to do this."
    )


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render_django_error(request, 404, "not_found", "There is nothing at this address.")


def handler500(request: HttpRequest) -> HttpResponse:
    return _render_django_error(
        request, 500, "server_error", "Something went wrong on the server; it has been logged."
    )


def _render_django_error(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    if request.path_info.startswith("/api/"):
        return JsonResponse({"code": code, "detail": detail}, status=status)
    return HttpResponse(f"{detail}\n", status=status, content_type="text/plain; charset=utf-8")
