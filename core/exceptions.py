"""The base of every error of the service, its kinds, and the errors that all apps raise.

The class docstring is the message where no other is given. ``code`` is stable and meant for
programs; ``fix`` tells a person what to do. The kind of an error decides its HTTP status
(``config.error_statuses``).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from core.text import shorten

MAX_ERROR_CHARS = 1_000  # of each text of an error, which may repeat what a caller wrote


class StrataError(Exception):
    """Something went wrong."""

    code = "error"
    is_retryable = False  # whether the same call may succeed later, unchanged
    is_about_setup = False  # whether it may succeed once an operator has corrected the setup
    retry_after: float | None = None  # seconds after which the same call may succeed, where known

    def __init__(
        self,
        detail: str | None = None,
        *,
        field: str | None = None,
        allowed: Iterable[str] | None = None,
        fix: str | None = None,
    ) -> None:
        self.detail = _limit(detail) or (self.__doc__ or "").strip().splitlines()[0]
        self.field = _limit(field)
        self.allowed = None if allowed is None else sorted(allowed)
        self.fix = _limit(fix)
        super().__init__(self.detail)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The error that the API answered with this content, as ``as_json`` wrote it."""
        error = cls(
            content.get("detail"),
            field=content.get("field"),
            allowed=content.get("allowed"),
            fix=content.get("fix"),
        )
        error.code = content.get("code", "unexpected_answer")
        return error

    @property
    def is_expected(self) -> bool:
        """Whether work that raises it is tried again later, without counting the attempt."""
        return self.is_retryable or self.is_about_setup

    def with_fix(self) -> str:
        """What went wrong, and what to do about it."""
        return f"{self} {self.fix or ''}".strip()

    def as_json(self) -> dict[str, object]:
        """The error's public form: ``code``, ``detail`` and whichever of the rest is set."""
        extras = {"field": self.field, "allowed": self.allowed, "fix": self.fix}
        return {
            "code": self.code,
            "detail": self.detail,
            **{name: value for name, value in extras.items() if value is not None},
        }


def _limit(text: str | None) -> str | None:
    return text and shorten(text, MAX_ERROR_CHARS)


# --- Kinds -----------------------------------------------------------------------------------


class InvalidInput(StrataError):
    """The request holds a value that is not allowed."""

    code = "invalid"


class Forbidden(StrataError):
    """The caller lacks the right to do this."""


class Unknown(StrataError):
    """Nothing has this name or id."""


class Conflict(StrataError):
    """The current state does not allow this."""


class Unprocessable(StrataError):
    """What was given is well formed, but cannot be used."""


class Unavailable(StrataError):
    """Something that is needed is not available now."""

    is_retryable = True


# --- Errors of all apps ----------------------------------------------------------------------


class Malformed(InvalidInput):
    """The request body cannot be read."""

    code = "malformed"


class TooLarge(InvalidInput):
    """The request, file or line is larger than the limit."""

    code = "too_large"


class UnknownIndex(Unknown):
    """There is no index of this name."""

    code = "unknown_index"

    @classmethod
    def named(cls, name: str, known: Iterable[str], fix: str | None = None) -> "UnknownIndex":
        """For a name that is none of the known ones."""
        detail = f"There is no index named {name[:100]!r}."
        return cls(detail, field="index", allowed=known, fix=fix)


class DiskFull(StrataError):
    """There is too little free disk space to accept more."""

    code = "disk_full"
    is_retryable = True


class BodyTimeout(StrataError):
    """The request body did not arrive in time."""

    code = "body_timeout"


class TooManyStreams(Unavailable):
    """The server is already streaming the maximum number of answers."""

    code = "too_many_streams"
