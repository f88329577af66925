"""``strata regenerate`` as people run it: with a server running, without, and interrupted."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

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
    assert done.stdout == "30 examined, 30 regenerated: 30 nodes, 0 texts\n"

    again = service.manage("regenerate", "--only-missing", "--stale", "--offset", "10")
    assert again.stdout == "30 examined, 0 regenerated: 0 nodes, 0 texts\n"

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
            (["--cancel", "x"], "'x' is not the id of a regeneration."),
            (["--cancel", str(uuid4())], "no regeneration with this id"),
        ],
    )
    def test_reports_wrong_arguments(self, db, arguments, said):
        with pytest.raises(CommandError, match=re.escape(said)):
            call_command("regenerate", *arguments)

    def test_can_be_interrupted_and_cancelled(self, idle, tmp_path):
        """After an interrupt, the next process continues the regeneration, until it is
        cancelled."""
        add_notes(idle, tmp_path / "notes")
        slowed = {
            "STRATA_FAULT_ARMED": str(tmp_path / "armed"),  # no such file: no fault
            "STRATA_FAULT_EMBEDDING_SECONDS": str(EMBEDDING_SECONDS),
        }
        with subprocess.Popen(
            [sys.executable, "-m", "tests.faults.launch", "regenerate", "--type", "chunk"],
            cwd=ROOT, env={**idle.environment, **slowed}, stderr=subprocess.PIPE, text=True,
            # A shell's background processes ignore SIGINT, and the command would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as command:  # fmt: skip
            await_gone_through(idle)
            command.send_signal(signal.SIGINT)
            said = command.communicate(timeout=120)[1]

        assert "It continues when the next server starts." in said
        assert "Traceback" not in said
        [regeneration_id] = re.findall(r"--cancel ([0-9a-f-]{36})", said)
        cancelled = idle.manage("regenerate", "--cancel", regeneration_id)
        assert re.search(r"is (cancelled|done)\.", cancelled.stdout), cancelled.stderr


def await_gone_through(service: Service) -> None:
    """Wait until all documents are processed; from then on the command waits for embedding."""
    database = service.data_dir / "strata.sqlite3"
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        with sqlite3.connect(database) as connection:
            [done] = connection.execute("SELECT sum(done_count) FROM indexing_regeneration")
            if done[0] == COUNT:
                return
        time.sleep(0.02)
    raise AssertionError("The regeneration did not go through all documents.")
