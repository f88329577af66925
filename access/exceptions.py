"""Errors about API keys and what they may do."""

from core.exceptions import StrataError


class UnknownKey(StrataError):
    """There is no key with this id."""

    code = "unknown_key_id"


class MissingScope(StrataError):
    """The key lacks the scope that the operation needs."""

    code = "missing_scope"


class SignInRefused(Exception):
    """The sign-in with the OpenID provider did not succeed. The page shows the text."""
