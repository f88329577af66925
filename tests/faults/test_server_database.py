"""PostgreSQL: ended at once, as by a power cut, and started again."""

import time

from tests.faults.counts import note, times
from tests.faults.servers_rig import Given, moments, reading, wait_for


class TestADatabaseThatRestarts:
    def test_loses_nothing_that_was_acknowledged(self, rig):
        given = Given(rig, "restarted")
        given.give(0)
        given.require_sound()
        pauses = moments(3, 1.0)

        with reading(given) as reader:
            for restart in range(times("database-restarted")):
                given.give_many(10, first=1 + 10 * restart)
                time.sleep(next(pauses))
                rig.postgres.stop()
                wait_for(lambda so_far=reader.refused: reader.refused > so_far)
                rig.postgres.start()
                given.give_many(5, first=1 + 10 * restart, edition=2 + restart)
                note("database-restarted")

        given.require_sound()
