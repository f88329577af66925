"""How commands measure: in this process, or, where a server owns the vector engine, by it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from core.exceptions import StrataError
from core.progress_bars import progress_bar
from core.running_server import RunningServer, find_server
from evaluation.judgements import Judgements
from evaluation.models import EvaluationRun
from evaluation.runs import begin_run, claim_run, get_run, measure_run
from retrieval.management.asking import answered, answering

POLL_SECONDS = 0.5

State = EvaluationRun.State


@dataclass(frozen=True, slots=True)
class Asked:
    """``systems`` empty: every mode of the index. ``judged`` None: its golden queries."""

    index: str
    systems: Sequence[str]
    baseline: str
    measures: Sequence[str]
    judged: Judgements | None


def measure(asked: Asked) -> EvaluationRun:
    """A finished run of what was asked for.

    Raises:
        CommandError: it could not be had.
    """
    server = find_server()
    with answering(server):
        if server is not None:
            run = _follow(_ask_server(server, asked), server)
        else:
            run = _measure_here(asked)
    if run.state != State.DONE:
        raise CommandError(f"{run.error_detail} [{run.error_code}]")
    return run


def _measure_here(asked: Asked) -> EvaluationRun:
    run = begin_run(
        asked.index,
        systems=asked.systems,
        baseline=asked.baseline,
        measures=asked.measures,
        judged=asked.judged,
        asked_by="manage.py",
    )
    claimed = claim_run(run.pk)
    if claimed is None:  # a worker was faster
        return _follow(run.pk, None)
    try:
        with progress_bar("Measuring", claimed.total_count) as advance:
            return measure_run(claimed, advance=advance)
    except BaseException:
        run.delete()  # no one waits for it any more
        raise


def _ask_server(server: RunningServer, asked: Asked) -> UUID:
    body: dict[str, Any] = {"index": asked.index, "measures": list(asked.measures)}
    if asked.systems:
        body["systems"] = list(asked.systems)
    if asked.baseline:
        body["against"] = asked.baseline
    if asked.judged is not None:
        body |= {"queries": asked.judged.queries, "qrels": asked.judged.qrels}
    answer = answered(server.request("POST", "/api/v1/evaluations/", json=body))
    return UUID(answer["id"])


def _follow(run_id: UUID, server: RunningServer | None) -> EvaluationRun:
    """The run once it is over; its row is the same wherever it is measured."""
    run = get_run(run_id)
    with progress_bar("Measuring", run.total_count) as advance:
        shown = 0
        while run.state not in (State.DONE, State.FAILED):
            time.sleep(POLL_SECONDS)
            if server is not None and find_server() is None:
                raise StrataError("The server has stopped; the next one goes on with it.")
            run = get_run(run_id)
            advance(run.done_count - shown)
            shown = run.done_count
    return run
