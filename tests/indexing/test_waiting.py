import pytest
from django.core.management.base import CommandError

from indexing import tasks
from indexing.management import waiting
from indexing.management.waiting import wait_for_regeneration
from indexing.models import IndexBuild, Regeneration
from indexing.regeneration import begin_regeneration, cancel_regeneration
from indexing.tasks import RegenerationWorker
from tests.acting import record_enqueued
from tests.factories import give, sync

pytestmark = pytest.mark.django_db


@pytest.fixture
def row(build, monkeypatch) -> Regeneration:
    """Of one document, with no one who works on it but the test."""
    record_enqueued(monkeypatch, tasks.sync_nodes)
    monkeypatch.setattr(waiting, "STALL_SECONDS", 0)
    sync(build, give("One heron."))
    return begin_regeneration(["chunk"], index="plain")


def between_looks(monkeypatch, *deeds) -> None:
    """Do one of these each time it would sleep."""
    due = list(deeds)
    monkeypatch.setattr(waiting.time, "sleep", lambda seconds: due.pop(0)())


class TestFollowRegeneration:
    def test_returns_once_all_of_it_is_synced(self, row, build, monkeypatch):
        done = []
        between_looks(
            monkeypatch,
            lambda: done.append(RegenerationWorker().run(row.pk)),
            lambda: done.append(sync(build)),
        )

        ended = wait_for_regeneration(row, lambda: True)

        assert len(done) == 2
        assert (ended.regeneration.state, ended.pending_count) == ("done", 0)

    def test_returns_when_it_is_called_off(self, row, monkeypatch):
        between_looks(monkeypatch, lambda: cancel_regeneration(row))

        assert wait_for_regeneration(row, lambda: True).regeneration.state == "cancelled"

    def test_says_why_nothing_moves(self, row, monkeypatch):
        Regeneration.objects.update(last_error="The model is away.")
        between_looks(monkeypatch, lambda: None)

        with pytest.raises(CommandError, match=r"It waits: The model is away\."):
            wait_for_regeneration(row, lambda: True)

    def test_says_why_what_is_due_does_not_sync(self, row, build, monkeypatch):
        RegenerationWorker().run(row.pk)
        IndexBuild.objects.filter(pk=build.pk).update(problem="The store is away.")
        between_looks(monkeypatch, lambda: None)

        with pytest.raises(CommandError, match=r"It waits: The store is away\."):
            wait_for_regeneration(row, lambda: True)

    def test_says_that_no_one_is_at_work_any_more(self, row, monkeypatch):
        between_looks(monkeypatch, lambda: None)

        with pytest.raises(CommandError, match="The server has stopped"):
            wait_for_regeneration(row, lambda: False)

    def test_waits_for_one_that_waits_behind_another(self, row, monkeypatch):
        looks = []
        between_looks(
            monkeypatch, *[lambda: looks.append(True)] * 5, lambda: cancel_regeneration(row)
        )

        wait_for_regeneration(row, lambda: True)

        assert len(looks) == 5

    def test_writes_lines_where_there_is_no_terminal(self, row, build, monkeypatch, capsys):
        monkeypatch.setattr(waiting, "LOG_LINE_SECONDS", 0)
        between_looks(
            monkeypatch,
            lambda: None,
            lambda: RegenerationWorker().run(row.pk),
            lambda: sync(build),
        )

        wait_for_regeneration(row, lambda: True)

        said = capsys.readouterr().err.splitlines()
        assert said[0] == "Regenerating: 0 of 1 documents gone through; 0 nodes to go"
        assert said[-1] == "Regenerating: 1 of 1 documents gone through; 1 nodes to go"
