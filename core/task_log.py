"""The log level of tasks that are started each minute."""

import logging
from collections.abc import Mapping
from functools import cache

from core.apps import iter_tasks


class RegularTaskFilter(logging.Filter):
    """Lowers what Celery says at INFO of a task that is started regularly to DEBUG: its start, its
    arrival and its success would be most of the log. Warnings and errors stay."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.args
        name = said.get("name") if isinstance(said, Mapping) else next(iter(said or ()), None)
        if record.levelno != logging.INFO or name not in _list_regular_tasks():
            return True
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


@cache
def _list_regular_tasks() -> frozenset[str]:
    return frozenset(name for name, task in iter_tasks() if task.every)
