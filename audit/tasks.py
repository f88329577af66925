"""The periodic task of the audit log."""

from celery import shared_task

from audit import services


@shared_task
def seal_and_prune() -> None:
    services.seal_and_prune()
