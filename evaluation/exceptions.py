"""Conditions met with judgements and evaluations."""

from core.exceptions import StrataError


class UnknownJudgement(StrataError):
    """There is no judgement with this id."""

    code = "unknown_judgement"


class UnknownRun(StrataError):
    """There is no evaluation with this id."""

    code = "unknown_evaluation"


class RunTakenOver(Exception):
    """Someone else measures this run now, or it was deleted."""
