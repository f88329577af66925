"""kill -9 of the service in the middle of a regeneration."""

import sqlite3
from contextlib import closing

import pytest

from tests.faults.armed import armed
from tests.faults.owner import Owner

COUNT = 30  # documents, of one node each


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


class TestAServiceKilledWhileItRegenerates:
    @pytest.mark.parametrize("moment", ["before", "after"])
    @pytest.mark.parametrize("step", ["plan", "claim", "upsert", "sync"])
    def test_does_the_rest_at_the_next_start(self, service, owner, step, moment):
        with closing(sqlite3.connect(service.data_dir / "strata.sqlite3")) as database:
            [began_at] = database.execute("SELECT datetime('now')").fetchone()
        service.arm(step, moment)

        asked = service.api.post("regenerate/", json={"type": "chunk"})
        service.await_death()
        service.disarm()
        service.start()
        owner.check()

        assert asked.json() == {"types": ["chunk"], "examined": COUNT, "due": COUNT, "nodes": COUNT}
        with closing(sqlite3.connect(service.data_dir / "strata.sqlite3")) as database:
            rows = "FROM indexing_node WHERE state = 'synced' AND embedded_at >= ?"
            [again] = database.execute(f"SELECT count(*) {rows}", [began_at]).fetchone()
            due = "SELECT count(*) FROM indexing_indexeddocument WHERE state != 'ready'"
            assert database.execute(due).fetchone() == (0,)
        assert again == COUNT
