"""Send tasks when a transaction commits. A message may be lost: the reconciliation makes up for
it."""

import logging
from typing import Any

from celery import Task
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def enqueue_on_commit(task: Task, **ids: Any) -> None:
    """Send a task once what the transaction wrote is there; whatever fails then, it stays there."""

    def wake() -> None:
        try:
            task.delay(**ids)
        except OperationalError as error:
            logger.warning(
                "The broker is away; %s waits for the reconciliation: %s", task.name, error
            )

    # A function and no partial: Django asks what fails for a name, to log it.
    transaction.on_commit(wake, robust=True)
