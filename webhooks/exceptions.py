"""Errors about webhooks."""

from core.exceptions import Conflict


class NoReceiver(Conflict):
    """No receiver of webhooks is configured."""

    code = "no_receiver"
