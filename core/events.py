"""What the core tells the apps that wait for it. Receivers run in the transaction of what happened:
either both are saved or neither, and an error of theirs undoes it."""

from typing import Any

from django.dispatch import Signal
from rest_framework.request import Request

happened = Signal()
changed = Signal()

Target = tuple[str, str, int | None]  # index, document and its revision


def announce(event: str, payload: dict[str, Any]) -> None:
    """Say that something happened, such as ``build.promoted``; the payload can be JSON."""
    happened.send(sender=None, event=event, payload=payload)


def note_changes(request: Request, targets: list[Target]) -> None:
    """Say what a part of a request has changed, if the request has several transactions."""
    changed.send(sender=None, request=request, targets=targets)
