"""Documents that exhaust memory, never end, crash their reader, or kill the worker that embeds
them."""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.armed import DEATH_SECONDS, KILLING_TEXT, ArmedService, armed
from tests.faults.counts import note, times
from tests.faults.owner import Owner

MIB = 2**20
LIMITS = {"STRATA_PARSE_SECONDS": "15", "STRATA_PARSE_MEMORY_BYTES": str(160 * MIB)}
ATTEMPTS = 3

GREEDY = json.dumps([[]] * 3_000_000)  # 12 MB of text become 200 MB of lists
LONG = "<p>" + "<b>word</b> " * 1_000_000  # takes seconds to parse; a signal comes meanwhile


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with armed(tmp_path_factory.mktemp("poisoned"), **LIMITS) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service):
    return Owner(service)


def give(owner: Owner, name: str, content: str, suffix: str) -> None:
    form = {"external_id": name, "title": name}
    file = {"file": (f"{name}.{suffix}", content.encode())}
    answer = owner.service.api.post("indexes/plain/artifacts/", data=form, files=file)
    assert answer.status_code == 202, answer.text
    owner.ids[name], owner.texts[name] = answer.json()["id"], content
    owner.failing.add(name)


def send_readers(service: ArmedService, number_of_signal: int) -> None:
    """Send a signal to every child process that parses files."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == service.process.pid and b"documents.parsing.child_process" in command:
            with suppress(ProcessLookupError):
                os.kill(int(status.parent.name), number_of_signal)


def error_of(owner: Owner, name: str) -> str | None:
    error = owner.service.api.get(f"artifacts/{owner.ids[name]}/").json()["error"]
    return None if error is None else str(error["code"])


class TestAPoisonedDocument:
    @pytest.mark.parametrize(
        ("sort", "suffix", "content", "number_of_signal", "code"),
        [
            ("greedy", "json", GREEDY, None, "parse_memory"),
            ("endless", "html", LONG, signal.SIGSTOP, "parse_timeout"),
            ("crashing", "html", LONG, signal.SIGSEGV, "parser_crashed"),
        ],
        ids=["greedy", "endless", "crashing"],
    )
    def test_fails_and_other_documents_become_ready(
        self, service, owner, sort, suffix, content, number_of_signal, code
    ):
        for number in range(times("poison")):
            name = f"{sort} {number}"
            give(owner, name, f"{content} {name}", suffix)
            if number_of_signal is not None:
                deadline = time.monotonic() + DEATH_SECONDS
                while error_of(owner, name) is None and time.monotonic() < deadline:
                    send_readers(service, number_of_signal)
                    time.sleep(0.05)
            owner.put(f"neighbour of {name}", f"Stands beside {name}.", is_file=True)

            owner.check()
            assert error_of(owner, name) == code
            note("poison")


class TestADocumentThatKillsTheService:
    def test_is_given_up_after_its_attempts_and_others_become_ready(self, tmp_path):
        with armed(tmp_path, STRATA_FAULT_MAX_ATTEMPTS=str(ATTEMPTS)) as service:
            owner = Owner(service)
            owner.put("before", "Stands before it.")
            owner.check()
            deaths = 0

            owner.put("killing", KILLING_TEXT)
            owner.failing.add("killing")
            owner.ids["after"], owner.texts["after"] = "", "Stands after it."
            while deaths < ATTEMPTS:
                service.await_death()
                deaths += 1
                note("poison")
                service.start()
            owner.put("after", owner.texts["after"])

            owner.check()
            assert owner.find("after", "stands after")
