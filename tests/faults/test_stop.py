"""SIGTERM while there is work."""

from random import Random
from time import sleep

from tests.faults.armed import armed
from tests.faults.counts import note, times
from tests.faults.owner import Owner

DOCUMENTS = 12
EMBEDDING_SECONDS = "0.2"


class TestAServiceThatIsToStop:
    def test_ends_in_time_and_goes_on_at_its_next_start(self, tmp_path):
        chance = Random(5)
        with armed(tmp_path, STRATA_FAULT_EMBEDDING_SECONDS=EMBEDDING_SECONDS) as service:
            owner = Owner(service)

            for stop in range(times("stop")):
                for number in range(DOCUMENTS):
                    text = f"Stop {stop}, document {number}. " * chance.randint(1, 200)
                    owner.put(f"{stop} {number}", text, is_file=number % 3 == 0)
                sleep(chance.uniform(0, 1))
                service.stop()  # fails if the process does not end in time

                assert service.process.returncode == 0
                note("stop")
                service.start()
                owner.check()
