"""The client's exceptions: one class for each way in which a caller can react."""

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from http.client import responses
from typing import Any, ClassVar

from strata_client.types import Artifact


@dataclass(eq=False, repr=False)
class StrataError(Exception):
    """Strata could not do what was asked.

    ``code`` is stable and meant for programs, ``fix`` for people. ``status`` is the HTTP status;
    None if there was no response, or a stream broke. ``retry_after`` is in seconds.
    """

    is_retryable: ClassVar[bool] = False  # whether the same call may succeed later, unchanged

    detail: str
    _: KW_ONLY
    code: str = "error"
    field: str | None = None
    allowed: list[str] | None = None
    fix: str | None = None
    status: int | None = None
    retry_after: float | None = None

    def __post_init__(self) -> None:
        super().__init__(self.detail)

    def __str__(self) -> str:
        allowed = None if self.allowed is None else f"Allowed: {', '.join(self.allowed)}."
        said = " ".join(part for part in (self.detail, allowed, self.fix) if part)
        field = f", field {self.field}" if self.field else ""
        return f"{said} ({self.code}{field})"


class InvalidRequest(StrataError):
    """A value, name or size is not allowed: ``field`` names it, ``allowed`` the alternatives."""


class AccessDenied(StrataError):
    """There is no key, it is unknown or revoked, or it lacks the rights for this."""


class NotFound(StrataError):
    """The index, artifact or other object named does not exist."""


class Conflict(StrataError):
    """The current state does not allow it, such as ``not_yet_indexed``."""


class TooManyRequests(StrataError):
    """The key's rate or usage limit is exceeded."""

    is_retryable = True


class Unavailable(StrataError):
    """Strata, or a service it needs, is not available at the moment."""

    is_retryable = True


class ArtifactFailed(StrataError):
    """An artifact that was waited for could not be read or indexed."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        error = artifact["error"]
        code, detail = (error["code"], error["detail"]) if error else ("failed", "It failed.")
        super().__init__(f"{artifact['title'] or artifact['id']}: {detail}", code=code)


class NotReady(StrataError):
    """An artifact or evaluation was not done in time; the work continues."""

    is_retryable = True


ERROR_BY_STATUS: dict[int, type[StrataError]] = {
    400: InvalidRequest,
    401: AccessDenied,
    403: AccessDenied,
    404: NotFound,
    405: InvalidRequest,
    406: InvalidRequest,
    409: Conflict,
    411: InvalidRequest,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
    507: Unavailable,
}

# Codes of ``error`` events, which have no status because the stream has begun.
UNAVAILABLE_CODES = frozenset(
    {
        "broker_unavailable",
        "database_unavailable",
        "embedding_unavailable",
        "language_model_misconfigured",
        "language_model_missing",
        "language_model_too_slow",
        "language_model_unavailable",
        "model_loading",
        "model_unavailable",
        "store_owned",
        "store_unavailable",
    }
)


def error_from_response(status: int, content: bytes, retry_after: float | None) -> StrataError:
    """Return the error for a failed response, also if a proxy or another server sent it."""
    error_class = ERROR_BY_STATUS.get(status, StrataError)
    try:
        described = json.loads(content)
    except ValueError:
        described = None
    if isinstance(described, dict) and isinstance(described.get("code"), str):
        return _build_error(error_class, described, status=status, retry_after=retry_after)
    answered = f"{status} {responses.get(status, '')}".rstrip()
    return error_class(
        f"The response {answered} is not from Strata.",
        code="http_error",
        fix="Check base_url, and any proxy in between.",
        status=status,
        retry_after=retry_after,
    )


def error_from_event(data: Mapping[str, Any]) -> StrataError:
    error_class = Unavailable if data.get("code") in UNAVAILABLE_CODES else StrataError
    return _build_error(error_class, data)


def _build_error(
    error_class: type[StrataError], data: Mapping[str, Any], **facts: Any
) -> StrataError:
    return error_class(
        data.get("detail") or "Something went wrong.",
        code=data.get("code") or "error",
        field=data.get("field"),
        allowed=data.get("allowed"),
        fix=data.get("fix"),
        **facts,
    )
