"""Errors of summaries."""

from core.exceptions import Unknown


class SummaryDeleted(Unknown):
    """The summary was deleted."""

    code = "summary_deleted"
