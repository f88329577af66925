"""Run an evaluation for a command: on the running server if there is one, else in this process."""

import time
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


def run_evaluation(index: str, judged: JudgedQueries | None, **options: Any) -> EvaluationRun:
    """Run an evaluation and return it once it has finished. ``options``: those of ``create_run``.

    Raises:
        CommandError: the run failed.
    """
    server = find_server()
    with open_indexes(server):
        if server is None:
            run = _measure(create_run(index, judged=judged, asked_by=COMMANDS, **options))
        else:
            body = {"index": index, "against": options.pop("baseline"), **options}
            if judged is not None:
                body |= {"queries": judged.queries, "qrels": judged.qrels}
            given = {name: value for name, value in body.items() if value}
            response = server.request("POST", "/api/v1/evaluations/", json=given)
            require_success(response)
            run = _wait_for_run(response.json()["id"], server)
    if run.state != State.DONE:
        raise CommandError(f"{run.error_detail} [{run.error_code}]")
    return run


def _measure(run: EvaluationRun) -> EvaluationRun:
    claimed = claim_run(run.pk)
    if claimed is None:  # a worker claimed it first
        return _wait_for_run(run.pk, None)
    try:
        with progress_bar("Measuring", claimed.total_count) as advance:
            return measure_run(claimed, before_each_answer=lambda: advance(1))
    except BaseException:
        run.delete()  # its result is no longer needed
        raise


def _wait_for_run(run_id: str | UUID, server: RunningServer | None) -> EvaluationRun:
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
