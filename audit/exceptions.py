"""Exceptions of the audit log. ``config.error_statuses`` maps them to HTTP responses."""

from core.exceptions import Unavailable


class AuditUnavailable(Unavailable):
    """The request was answered, but its row of the audit log was not written."""

    code = "audit_unavailable"
    is_retryable = False
