"""The service in the test's process, and the table of faults at the end of a run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexing.models import Index, IndexBuild
from tests.faults import counts
from tests.faults.inside import Inside, Messages, capturing
from tests.faults.servers_rig import rig, servers

__all__ = ["rig", "servers"]  # fixtures


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Messages]:
    with capturing(monkeypatch) as messages:
        yield messages


@pytest.fixture
def inside(build: IndexBuild, messages: Messages) -> Inside:
    """The service with only the plain index; other indexes would be reconciled, too."""
    Index.objects.exclude(pk=build.index_id).delete()
    return Inside(messages)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not counts.noted:
        return
    terminalreporter.section("faults that struck")
    for line in counts.table():
        terminalreporter.write_line(line)
    if path := os.environ.get("STRATA_FAULT_TABLE"):
        Path(path).write_text("\n".join([*counts.table(), ""]), encoding="utf-8")
