"""``strata regenerate`` as people run it: with a server running, without, and interrupted."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.serving import ROOT, Service

COUNT = 40  # documents, of one node each
READY_SECONDS = 120
EMBEDDING_SECONDS = 10  # so that the command cannot end before it is interrupted


def add_notes(service: Service, folder: Path) -> None:
    folder.mkdir()
    lines = [{"external_id": f"n{n}", "text": f"Lantern number {n}."} for n in range(COUNT)]
    notes = folder / "notes.jsonl"
    notes.write_text("\n".join(json.dumps(line) for line in lines))
    added = service.manage("add", str(notes), "--index", "plain", "--wait")
    assert f"{COUNT} ready, 0 failed" in added.stdout, added.stderr


def check_regenerating(service: Service, folder: Path) -> None:
    add_notes(service, folder)

    done = service.manage("regenerate", "--index", "plain", "--type", "chunk", "--limit", "30")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "chunk: 30 examined, 30 due, 30 nodes to embed\n"

    again = service.manage("regenerate", "--only-missing", "--stale", "--offset", "10")
    assert again.stdout == "all: 30 examined, 0 due, 0 nodes to embed\n", again.stderr

    service.verify("--index", "plain")


class TestRegenerate:
    def test_works_without_a_running_server(self, idle, tmp_path):
        check_regenerating(idle, tmp_path / "notes")

    def test_works_beside_a_running_server(self, served, tmp_path):
        check_regenerating(served, tmp_path / "notes")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (
                ["--type", "nil"],
                "no type 'nil' that can be regenerated. Allowed: all, chunk, compound,",
            ),
            (["--type", "summary", "--index", "plain"], "Allowed: all, chunk."),
            (["--index", "nil"], "There is no index named 'nil'. Allowed:"),
            (["--limit", "0"], "'0' is not a whole number of at least 1."),
        ],
    )
    def test_reports_wrong_arguments(self, db, arguments, said):
        with pytest.raises(CommandError, match=re.escape(said)):
            call_command("regenerate", *arguments)

    def test_continues_after_an_interrupt(self, idle, tmp_path):
        """The next process does the rest."""
        add_notes(idle, tmp_path / "notes")
        slowed = {
            "STRATA_FAULT_ARMED": str(tmp_path / "armed"),  # no such file: no fault
            "STRATA_FAULT_EMBEDDING_SECONDS": str(EMBEDDING_SECONDS),
        }
        with subprocess.Popen(
            [sys.executable, "-m", "tests.faults.launch", "regenerate", "--type", "chunk"],
            cwd=ROOT, env={**idle.environment, **slowed},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # A shell's background processes ignore SIGINT, and the command would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as command:  # fmt: skip
            await_pending(idle)
            command.send_signal(signal.SIGINT)
            output, said = command.communicate(timeout=120)

        assert output == f"chunk: {COUNT} examined, {COUNT} due, {COUNT} nodes to embed\n"
        assert "It continues when the next server starts." in said
        assert "Traceback" not in said
        assert count_nodes(idle, "pending") > 0
        rest = idle.manage("regenerate", "--only-missing")
        assert rest.returncode == 0, rest.stderr
        assert count_nodes(idle, "synced") == COUNT


def count_nodes(service: Service, state: str) -> int:
    with closing(sqlite3.connect(service.data_dir / "strata.sqlite3")) as connection:
        [count] = connection.execute(
            "SELECT count(*) FROM indexing_node WHERE state = ?", [state]
        ).fetchone()
    return int(count)


def await_pending(service: Service) -> None:
    """Wait until all documents are planned; from then on the command waits for embedding."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if count_nodes(service, "pending") == COUNT:
            return
        time.sleep(0.02)
    raise AssertionError("The documents were not planned.")
