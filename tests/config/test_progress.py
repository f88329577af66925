import time
from collections.abc import Callable

import pytest

from config import progress
from documents.models import Artifact
from tests.factories import give, sync

pytestmark = pytest.mark.django_db


class Ticks:
    """Replaces a stop event: each check runs one action, and it is set after the last."""

    def __init__(self, *deeds: Callable[[], object]) -> None:
        self.deeds = list(deeds)
        self.waits: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if not self.deeds:
            return True
        self.deeds.pop(0)()
        return False


class TestWriteLines:
    def test_reports_when_everything_is_indexed(self, build, capsys):
        artifact = give()
        said: list[str] = []

        progress._write_lines(
            Ticks(
                lambda: Artifact.objects.update(state="received"),
                lambda: Artifact.objects.update(state="parsed"),  # parsed, and not planned yet
                lambda: said.append(capsys.readouterr().err),
                lambda: sync(build, artifact),
            )
        )

        assert "Indexed" not in said[0]
        assert capsys.readouterr().err == "Indexed: every node is synced.\n"


class TestWatchUnfinishedIndexes:
    def test_waits_longer_if_counting_takes_long(self, monkeypatch):
        def count() -> list[object]:
            until = time.thread_time() + 0.05
            while time.thread_time() < until:
                pass
            return []

        monkeypatch.setattr(progress, "_unfinished_indexes", count)
        ticks = Ticks(lambda: None)

        watched = list(progress._watch_unfinished_indexes(ticks))

        assert watched == [[]]
        first, second = ticks.waits
        assert first == progress.POLL_SECONDS
        assert second >= 5.0
