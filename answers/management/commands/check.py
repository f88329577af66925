from typing import Any

from django.core.checks import register
from django.core.management.commands import check

from answers.checks import check_pipelines_load


class Command(check.Command):
    """Django's check command, which also builds every query pipeline. Other commands skip that,
    because it takes seconds."""

    def handle(self, *app_labels: Any, **options: Any) -> None:
        register(check_pipelines_load)
        super().handle(*app_labels, **options)
