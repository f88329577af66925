import logging

import pytest
from celery.app.trace import LOG_RECEIVED, LOG_SUCCESS
from celery.app.trace import logger as trace
from celery.beat import logger as beat
from celery.worker.strategy import logger as strategy

REGULAR, OTHER = "documents.tasks.reconcile_documents", "documents.tasks.parse_documents"


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    """An embedded worker that another test has stopped lets Celery's worker say nothing."""
    caplog.set_level(logging.NOTSET, "celery.worker")


def say(level: int, name: str) -> None:
    """What Celery logs of a task that runs once."""
    context = {"id": "1", "name": name, "runtime": 0.1, "return_value": None}
    beat.log(level, "Scheduler: Sending due task %s (%s)", name, name)
    strategy.log(level, LOG_RECEIVED, context, extra={"data": context})
    trace.log(level, LOG_SUCCESS, context, extra={"data": context})


@pytest.mark.parametrize(
    ("level", "name", "shown"),
    [
        (logging.INFO, REGULAR, []),
        (logging.INFO, OTHER, ["INFO"] * 3),
        (logging.ERROR, REGULAR, ["ERROR"] * 3),
    ],
)
def test_says_of_regular_tasks_only_what_went_wrong(caplog, level, name, shown):
    with caplog.at_level(logging.INFO):
        say(level, name)

    assert [record.levelname for record in caplog.records] == shown


def test_says_everything_at_debug(caplog):
    with caplog.at_level(logging.DEBUG):
        say(logging.INFO, REGULAR)

    assert [record.levelname for record in caplog.records] == ["DEBUG"] * 3


def test_leaves_other_lines_as_they_are(caplog):
    with caplog.at_level(logging.INFO):
        beat.info("beat: Starting...")

    assert caplog.messages == ["beat: Starting..."]
