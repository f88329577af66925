"""Errors about API keys."""

from core.exceptions import StrataError


class UnknownKey(StrataError):
    """There is no key with this id."""

    code = "unknown_key_id"
