"""Errors about webhooks."""

from core.exceptions import StrataError


class NoReceiver(StrataError):
    """No receiver of webhooks is configured."""

    code = "no_receiver"
