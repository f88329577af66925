"""Send tasks. A message may be lost; the reconciliation then enqueues the work."""

import json
import logging
from typing import Any

from celery import Task
from celery.signals import task_prerun
from django.core.cache import cache
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

# After this time a message that no worker has taken counts as lost and may be sent again.
LOST_MESSAGE_SECONDS = 30


def enqueue_on_commit(task: Task, **ids: Any) -> None:
    """Send a task after the transaction commits. If sending fails, the committed rows stay."""

    # Not a partial: Django logs the name of a callback that fails, and a partial has none.
    def send() -> None:
        enqueue_once(task, **ids)

    transaction.on_commit(send, robust=True)


def enqueue_once(task: Task, **ids: Any) -> None:
    """Send a task, unless the same message still waits: the worker that takes it sees the same
    rows."""
    key = _make_key(task, ids)
    if not cache.add(key, True, LOST_MESSAGE_SECONDS):
        return
    try:
        task.delay(**ids)
    except OperationalError as error:
        cache.delete(key)
        logger.warning(
            "The broker cannot be reached; the reconciliation will enqueue %s: %s", task.name, error
        )


@task_prerun.connect
def forget_message(task: Task, kwargs: dict[str, Any], **rest: Any) -> None:
    """Forget a message when a worker starts it: later changes to rows need a new message."""
    cache.delete(_make_key(task, kwargs))


def _make_key(task: Task, ids: dict[str, Any]) -> str:
    return f"message {task.name} {json.dumps(ids, sort_keys=True)}".replace(" ", "_")
