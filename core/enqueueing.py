"""Send tasks. A message may be lost: the reconciliation makes up for it."""

import json
import logging
from typing import Any

from celery import Task
from celery.signals import task_prerun
from django.core.cache import cache
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

# After which a message that no worker took up is taken for lost, and sent again when asked for.
LOST_MESSAGE_SECONDS = 30


def enqueue_on_commit(task: Task, **ids: Any) -> None:
    """Send a task once what the transaction wrote is there; whatever fails then, it stays there."""

    # A function and no partial: Django asks what fails for a name, to log it.
    def send() -> None:
        enqueue_once(task, **ids)

    transaction.on_commit(send, robust=True)


def enqueue_once(task: Task, **ids: Any) -> None:
    """Send a task, unless the same message still waits for a worker: it will see the same rows."""
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
    """A worker takes the message up, and reads the rows from here on."""
    cache.delete(_make_key(task, kwargs))


def _make_key(task: Task, ids: dict[str, Any]) -> str:
    return f"message {task.name} {json.dumps(ids, sort_keys=True)}".replace(" ", "_")
