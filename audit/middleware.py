"""Which requests have rows in the audit log: changes, and by a setting all others.

MCP tools and most commands send requests to REST, whose rows cover them.
"""

import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException

from access.authentication import ACTING_FOR
from access.grants import Scope, list_index_names
from access.permissions import get_required_scope
from audit.exceptions import AuditUnavailable
from audit.models import Subject
from audit.services import identify, write_rows
from core.admin import AUDITED_TARGETS
from core.apps import list_apps
from core.exceptions import StrataError
from core.index_paths import get_index_path
from core.routes import describe_route
from core.serializers import make_error_json

logger = logging.getLogger(__name__)

AUDITED: Final = "strata.audited_index"  # in META: the index of the object in the path, or ""
UNAUDITED_STATUSES: Final = {401, 429}  # strangers could fill the table with refused requests
READ_ROUTES: Final = ("api/v1/", "v1/", "admin/")
_ID: Final = re.compile(r"[0-9]{1,18}|[0-9a-fA-F-]{36}")


class AuditMiddleware:
    """Writes the row of a request before it is answered: a change that is acknowledged has its
    row. If that fails, the answer is an error, although the change may have been made. A request
    that is refused keeps its answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """Look up the index now: the request may delete the object. Without it, the request is
        refused."""
        route = getattr(request.resolver_match, "route", "")
        is_read = settings.STRATA_AUDIT_LOG_READS and route.startswith(READ_ROUTES)
        if is_read or _is_change(request, view):
            try:
                request.META[AUDITED] = _find_index_of_object(kwargs)
            except DatabaseError:
                logger.exception("The index of a request was not found for the audit log")
                detail = "The request was not carried out: the database did not answer."
                return _answer(AuditUnavailable(detail))
        return None

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_sign_in = ACTING_FOR in request.META
        if is_sign_in:
            request.META.setdefault(AUDITED, "")
        if AUDITED not in request.META or response.status_code in UNAUDITED_STATUSES:
            return response
        match: Any = request.resolver_match
        caller = identify(request)
        is_nobody = caller[0] == Subject.Kind.NOBODY and not is_sign_in
        if is_nobody and (
            response.status_code == HTTPStatus.FORBIDDEN or _is_change(request, match.func)
        ):
            return response  # refused
        try:
            data = getattr(response, "data", None)
            answer = data if isinstance(data, Mapping) else {}
            index = request.META[AUDITED] or _find_index(match.kwargs, response, answer)
            targets = [(index, _find_document(match.kwargs, answer), answer.get("revision"))]
            if AUDITED_TARGETS in request.META:
                changed = request.META[AUDITED_TARGETS]
                targets = [(name, document, None) for name, document in changed]
            write_rows(caller, describe_route(request), response.status_code, targets)
        except DatabaseError:
            logger.exception("A row of the audit log was not written")
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                return response  # nothing was changed; it says what is wrong, such as a full disk
            response.close()
            return _answer(AuditUnavailable())
        return response


def _answer(error: AuditUnavailable) -> JsonResponse:
    return JsonResponse(make_error_json(error), status=503, headers={"Retry-After": "5"})


def _is_change(request: HttpRequest, view: Any) -> bool:
    """Whether the operation needs more rights than searches, or is not of the API."""
    method = str(request.method).lower()
    if method in {"get", "head", "options"}:
        return False
    operation = view.actions.get(method, "") if hasattr(view, "actions") else method
    return not hasattr(view, "cls") or get_required_scope(view.cls, operation) != Scope.SEARCH


def _find_index_of_object(kwargs: Mapping[str, Any]) -> str:
    for app in list_apps():
        for name in app.path_objects.keys() & kwargs.keys():
            named = app.path_objects[name]
            model = app.find_model(named.model)
            rows = model._base_manager.filter(named.condition)
            with suppress(ValidationError, ValueError):  # it is no id
                indexes = rows.filter(**{named.field: kwargs[name]})
                found = indexes.values_list(get_index_path(model), flat=True).first()
                return str(found or "")
    return ""


def _find_index(kwargs: Mapping[str, Any], response: Any, answer: Mapping[str, Any]) -> str:
    """The index that a path, an answer or a body names; "" if there is no such index."""
    if response.status_code < HTTPStatus.BAD_REQUEST and "index" in kwargs:
        return str(kwargs["index"])  # also one that the request has deleted
    given: list[Any] = [kwargs, answer]
    # Without its request after a search, whose answer names the index.
    if asked := getattr(response, "renderer_context", {}).get("request"):
        with suppress(APIException, StrataError):  # a malformed body that the view left aside
            given.append(asked.data)
    named = [each.get("index") for each in given if isinstance(each, Mapping)]
    known = list_index_names() if any(named) else ()
    return next((str(name) for name in named if name in known), "")


def _find_document(kwargs: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """The first id in the path, or that of the answer; no other text."""
    values = [value for name, value in kwargs.items() if name != "index"]
    values.append(answer.get("id"))
    return next((str(value).lower() for value in values if _ID.fullmatch(str(value))), "")
