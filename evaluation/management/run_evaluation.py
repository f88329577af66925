"""Run an evaluation for a command: on the running server if there is one, else in this process."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError

from access.usage_limits import COMMANDS
from core.exceptions import StrataError
from core.progress_bars import progress_bar
from core.running_server import RunningServer, find_server
from evaluation.judged_queries import JudgedQueries
from evaluation.models import EvaluationRun
from evaluation.runs import claim_run, create_run, get_run, measure_run
from indexing.management.api_client import open_indexes, require_success

POLL_SECONDS = 0.5

State = EvaluationRun.State


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What to evaluate. No ``systems``: every mode of the index. No ``judged``: golden queries."""

    index: str
    systems: Sequence[str]
    baseline: str
    measures: Sequence[str]
    judged: JudgedQueries | None


def run_evaluation(request: EvaluationRequest) -> EvaluationRun:
    """Run an evaluation and return it once it has finished.

    Raises:
        CommandError: the run failed.
    """
    server = find_server()
    with open_indexes(server):
        if server is not None:
            run = _wait_for_run(_request_server_run(server, request), server)
        else:
            run = _run_in_process(request)
    if run.state != State.DONE:
        raise CommandError(f"{run.error_detail} [{run.error_code}]")
    return run


def _run_in_process(request: EvaluationRequest) -> EvaluationRun:
    run = create_run(
        request.index,
        systems=request.systems,
        baseline=request.baseline,
        measures=request.measures,
        judged=request.judged,
        asked_by=COMMANDS,
    )
    claimed = claim_run(run.pk)
    if claimed is None:  # a worker claimed it first
        return _wait_for_run(run.pk, None)
    try:
        with progress_bar("Measuring", claimed.total_count) as advance:
            return measure_run(claimed, advance=advance)
    except BaseException:
        run.delete()  # its result is no longer needed
        raise


def _request_server_run(server: RunningServer, request: EvaluationRequest) -> UUID:
    body: dict[str, Any] = {"index": request.index, "measures": list(request.measures)}
    if request.systems:
        body["systems"] = list(request.systems)
    if request.baseline:
        body["against"] = request.baseline
    if request.judged is not None:
        body |= {"queries": request.judged.queries, "qrels": request.judged.qrels}
    response = server.request("POST", "/api/v1/evaluations/", json=body)
    require_success(response)
    return UUID(response.json()["id"])


def _wait_for_run(run_id: UUID, server: RunningServer | None) -> EvaluationRun:
    """Wait until a run has ended. Any process may measure it, so poll its row in the database."""
    run = get_run(run_id)
    with progress_bar("Measuring", run.total_count) as advance:
        shown = 0
        while run.state not in (State.DONE, State.FAILED):
            time.sleep(POLL_SECONDS)
            if server is not None and find_server() is None:
                raise StrataError(
                    "The server has stopped. The next server that starts continues the evaluation."
                )
            run = get_run(run_id)
            advance(run.done_count - shown)
            shown = run.done_count
    return run
