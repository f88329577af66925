"""The id of the request that is answered, which every line of the log carries."""

import logging
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")  # empty outside of a request


class RequestIdFilter(logging.Filter):
    """Adds ``request_id`` to every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
