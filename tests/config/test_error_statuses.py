import json

import psycopg
import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InternalError, OperationalError
from django.http import Http404
from django.test import RequestFactory
from kombu.exceptions import OperationalError as BrokerError
from rest_framework import exceptions
from rest_framework.exceptions import ErrorDetail

import audit.middleware  # noqa: F401 - with config.urls,
import config.urls  # noqa: F401 - it imports every module with errors
from access.exceptions import TooManyRequests
from config import error_statuses
from config.error_statuses import HTTP_STATUS, exception_handler, http_status
from core.exceptions import MAX_ERROR_CHARS, InvalidInput, StrataError, TooLarge
from indexing.exceptions import ModelUnavailable, StoreUnavailable

IDLE = InternalError("the session was ended")
IDLE.__cause__ = psycopg.errors.IdleInTransactionSessionTimeout()


def every_condition(base: type[StrataError] = StrataError) -> list[type[StrataError]]:
    """Every error that has a code. The others are kinds of errors."""
    derived = [each for each in base.__subclasses__() if not each.__module__.startswith("tests.")]
    coded = [each for each in derived if each.code != StrataError.code]
    return [*coded, *(each for one in derived for each in every_condition(one))]


class TestTable:
    @pytest.mark.parametrize("condition", every_condition())
    def test_has_a_status_for_every_error(self, condition):
        assert any(ancestor in HTTP_STATUS for ancestor in condition.__mro__)

    @pytest.mark.parametrize("condition", every_condition())
    def test_gives_retryable_errors_a_retryable_status(self, condition):
        assert not condition.is_retryable or http_status(condition()) in {429, *range(500, 600)}

    def test_uses_the_status_of_the_nearest_base_class(self):
        class Narrower(TooLarge):
            """Still too large."""

        assert http_status(Narrower()) == http_status(TooLarge()) == 413


class TestExceptionHandler:
    def test_returns_every_field_of_an_error(self):
        error = InvalidInput("Wrong.", field="year", allowed=["b", "a"], fix="Do not.")

        answer = exception_handler(error, {})

        assert answer.status_code == 400
        assert answer.data == {
            "code": "invalid",
            "detail": "Wrong.",
            "field": "year",
            "allowed": ["a", "b"],
            "fix": "Do not.",
        }

    @pytest.mark.parametrize(
        ("error", "end"),
        [
            (InvalidInput(f"{'x' * 300_000} is not allowed."), "xxx is not allowed."),
            (exceptions.MethodNotAllowed("x" * 300_000), 'xxx" not allowed.'),
        ],
    )
    def test_cuts_a_long_value_that_an_error_repeats(self, error, end):
        answer = exception_handler(error, {})

        assert len(answer.data["detail"]) == MAX_ERROR_CHARS
        assert answer.data["detail"].endswith(end)

    def test_sends_retry_after(self):
        assert int(exception_handler(StoreUnavailable(), {})["Retry-After"]) > 0

    def test_sends_the_end_of_a_limit_as_retry_after(self):
        error = TooManyRequests()
        error.retry_after = 49.2

        answer = exception_handler(error, {})

        assert (answer.status_code, answer["Retry-After"]) == (429, "50")

    def test_sends_the_next_attempt_at_a_model_as_retry_after(self):
        error = ModelUnavailable("It cannot be fetched.")
        error.retry_after = 29.2

        assert exception_handler(error, {})["Retry-After"] == "30"

    @pytest.mark.parametrize(
        ("detail", "field"),
        [
            ({"title": ["Too long."], "url": ["Wrong."]}, "title"),
            ({"pages": {3: ["Too long."]}}, "pages.3"),
            ({"a": {"b": [{}, {"c": ["Too long."]}]}}, "a.b.1.c"),
            ({"non_field_errors": ["Too long."]}, None),
            (["Too long."], None),
            ("Too long.", None),
        ],
    )
    def test_names_the_first_wrong_field(self, detail, field):
        answer = exception_handler(exceptions.ValidationError(detail), {})

        assert answer.status_code == 400
        assert answer.data["detail"] == "Too long."
        assert answer.data.get("field") == field

    @pytest.mark.parametrize(
        ("error", "status", "code"),
        [
            (exceptions.NotFound(code="no_original"), 404, "no_original"),
            (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
            (exceptions.ParseError(), 400, "malformed"),
            (exceptions.UnsupportedMediaType("a/b"), 415, "unsupported_media_type"),
            (exceptions.NotAuthenticated(), 401, "not_authenticated"),
            (exceptions.AuthenticationFailed(code="unknown_key"), 401, "unknown_key"),
            (exceptions.Throttled(wait=3), 429, "throttled"),
            (exceptions.NotAcceptable(), 406, "not_acceptable"),
            (Http404("secret path"), 404, "not_found"),
            (PermissionDenied(), 403, "permission_denied"),
            (RequestDataTooBig(), 413, "too_large"),
            (SuspiciousOperation(), 400, "malformed"),
            (OperationalError("database is locked"), 503, "database_unavailable"),
            (IDLE, 503, "database_unavailable"),
            (BrokerError("refused"), 503, "broker_unavailable"),
        ],
    )
    def test_returns_every_error_in_one_format(self, error, status, code):
        answer = exception_handler(error, {})

        assert (answer.status_code, answer.data["code"]) == (status, code)
        assert set(answer.data) == {"code", "detail"}
        assert answer.data["detail"]
        assert "secret" not in answer.data["detail"]

    def test_keeps_the_headers_of_an_error(self):
        error = exceptions.AuthenticationFailed()
        error.auth_header = "Bearer"

        assert exception_handler(error, {})["WWW-Authenticate"] == "Bearer"
        assert exception_handler(exceptions.Throttled(wait=3), {})["Retry-After"] == "3"

    def test_returns_valid_utf8_for_surrogates(self):
        error = exceptions.ValidationError({"a\ud800": [ErrorDetail("b\udfff", "invalid")]})

        answer = exception_handler(error, {})

        json.dumps(answer.data, ensure_ascii=False).encode()

    def test_does_not_handle_unexpected_errors(self):
        assert exception_handler(ZeroDivisionError(), {}) is None


class TestHandlers:
    @pytest.mark.parametrize(
        ("answer", "status"),
        [
            (lambda request: error_statuses.answer_error(request, SuspiciousOperation()), 400),
            (lambda request: error_statuses.answer_error(request, PermissionDenied()), 403),
            (lambda request: error_statuses.answer_error(request, Http404()), 404),
            (error_statuses.handler500, 500),
        ],
    )
    def test_answer_in_json_below_the_api_and_in_text_elsewhere(self, answer, status):
        below = answer(RequestFactory().get("/api/v1/nothing"))
        elsewhere = answer(RequestFactory().get("/nothing"))

        assert below.status_code == elsewhere.status_code == status
        assert set(json.loads(below.content)) == {"code", "detail"}
        assert elsewhere["Content-Type"].startswith("text/plain")
        assert b"<" not in elsewhere.content
