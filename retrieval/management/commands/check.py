from typing import Any

from django.core.checks import register
from django.core.management.commands import check

from retrieval.checks import check_pipelines_load


class Command(check.Command):
    """Django's own, and query pipelines as a whole: all other commands are spared the seconds
    that takes."""

    def handle(self, *app_labels: Any, **options: Any) -> None:
        register(check_pipelines_load)
        super().handle(*app_labels, **options)
