"""Errors of judgements and evaluation runs."""

from core.exceptions import Unknown


class UnknownJudgement(Unknown):
    """There is no judgement with this id."""

    code = "unknown_judgement"


class UnknownRun(Unknown):
    """There is no evaluation with this id."""

    code = "unknown_evaluation"


class StopRequested(Exception):
    """The worker was asked to stop."""


class RunTakenOver(Exception):
    """Another worker has claimed this run, or it was deleted."""
