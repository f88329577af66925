"""kill -9 of the service in the middle of a regeneration."""

import sqlite3
import time

import pytest

from tests.faults.armed import armed
from tests.faults.owner import Owner

COUNT = 30  # documents, of one node each
DEADLY = 12  # the document at which the service dies
SYNCED_SECONDS = 120


class TestAServiceKilledWhileItRegenerates:
    @pytest.mark.parametrize(("step", "moment"), [("plan", "before"), ("plan", "after")])
    def test_goes_on_where_it_was(self, tmp_path, step, moment):
        with armed(tmp_path) as service:
            owner = Owner(service)
            for number in range(COUNT):
                owner.put(f"n{number}", f"Lantern number {number}.")
            owner.check()
            service.arm(step, moment, DEADLY)

            asked = service.api.post("regenerate/", json={"type": "chunk"}).json()
            service.await_death()
            with sqlite3.connect(tmp_path / "strata.sqlite3") as database:
                found = database.execute(
                    "SELECT done_count, due_node_count, state FROM indexing_regeneration"
                ).fetchone()
            database.close()
            assert found == (DEADLY - 1, DEADLY - 1, "running")
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
