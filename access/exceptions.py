"""Errors about API keys and what they may do."""

from typing import TYPE_CHECKING

from core.exceptions import Conflict, Forbidden, StrataError, Unavailable, Unknown

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class UnknownKey(Unknown):
    """There is no key with this id."""

    code = "unknown_key_id"


class UnknownPerson(Unknown):
    """There is no person with this id."""

    code = "unknown_person"


class SuperuserNeeded(Forbidden):
    """Only superusers may change superusers and staff."""

    code = "superuser_needed"


class LastManager(Conflict):
    """Nobody else who can sign in may manage access."""

    code = "last_manager"


class MissingScope(Forbidden):
    """The key lacks the scope that the operation needs."""

    code = "missing_scope"


class SignInRefused(Exception):
    """The sign-in with the OpenID provider did not succeed. The page shows the text. ``user``: who
    the provider says it is, if that is known here."""

    def __init__(self, detail: str, user: "User | None" = None) -> None:
        super().__init__(detail)
        self.user = user


class TokenUsedTwice(Exception):
    """A code or a refresh token was exchanged before, and has been stolen."""

    def __init__(self, user: "User") -> None:
        super().__init__(user)
        self.user = user


class LimitReached(StrataError):
    """The key has reached one of its limits."""

    code = "too_many_requests"
    is_retryable = True


class TooManyRequests(LimitReached):
    """The key has exceeded its requests per minute."""


class TooManyWrongKeys(LimitReached):
    """The address has sent too many wrong keys."""

    code = "too_many_wrong_keys"


class TooManyStreamsOfKey(LimitReached):
    """The key is already reading its maximum number of answers at once."""

    code = "too_many_streams"


class TooManyJobs(LimitReached):
    """This key has the maximum number of waiting jobs."""

    code = "too_many_jobs"


class ModelUseSpent(LimitReached):
    """The key has reached its daily limit for the language model."""

    code = "model_use_spent"


class TooManyLogins(Unavailable):
    """Too many passwords are being checked at this moment."""

    code = "too_many_logins"
    retry_after = 2.0
