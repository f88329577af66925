"""kill -9 of the service in the middle of a regeneration."""

import sqlite3
import time
from contextlib import closing
from uuid import UUID

import pytest

from tests.faults.armed import ArmedService, armed
from tests.faults.owner import Owner

COUNT = 30  # documents, of one node each
DEADLY = 12  # the document at which the service dies
SYNCED_SECONDS = 120


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with armed(tmp_path_factory.mktemp("regenerated")) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service):
    """An owner whose documents are indexed."""
    owner = Owner(service)
    for number in range(COUNT):
        owner.put(f"n{number}", f"Lantern number {number}.")
    owner.check()
    return owner


def read_progress(service: ArmedService, regeneration_id: str) -> tuple[int, int, str]:
    with closing(sqlite3.connect(service.data_dir / "strata.sqlite3")) as database:
        return database.execute(
            "SELECT done_count, due_node_count, state FROM indexing_regeneration WHERE id = ?",
            [UUID(regeneration_id).hex],
        ).fetchone()


class TestAServiceKilledWhileItRegenerates:
    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_continues_where_it_stopped(self, service, owner, moment):
        service.arm("plan", moment, DEADLY)

        asked = service.api.post("regenerate/", json={"type": "chunk"}).json()
        service.await_death()
        assert read_progress(service, asked["id"]) == (DEADLY - 1, DEADLY - 1, "running")
        service.disarm()
        service.start()
        deadline = time.monotonic() + SYNCED_SECONDS
        ended = asked
        while not ended["is_synced"] and time.monotonic() < deadline:
            time.sleep(0.2)
            ended = service.api.get(f"regenerate/{asked['id']}/").json()

        assert ended["state"] == "done", ended
        assert ended["artifacts"]["done"] == ended["artifacts"]["made_due"] == COUNT
        assert ended["nodes"] == {"made_due": COUNT, "pending": 0, "failed": 0}
        owner.check()
