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

    def wait(self, seconds: float) -> bool:
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
