"""The service stopped by a signal while there is work."""

import signal
from itertools import cycle
from random import Random
from time import sleep

from tests.faults.armed import armed
from tests.faults.counts import note, times
from tests.faults.owner import Owner

DOCUMENTS = 12
EMBEDDING_SECONDS = "0.2"
STOP_SECONDS = 60


class TestAStoppedService:
    def test_exits_in_time_and_continues_at_its_next_start(self, tmp_path):
        chance = Random(5)
        with armed(tmp_path, STRATA_FAULT_EMBEDDING_SECONDS=EMBEDDING_SECONDS) as service:
            owner = Owner(service)

            signals = cycle([signal.SIGINT, signal.SIGTERM])
            for stop, number_of_signal in zip(range(times("stop")), signals, strict=False):
                for number in range(DOCUMENTS):
                    text = f"Stop {stop}, document {number}. " * chance.randint(1, 200)
                    owner.put(f"{stop} {number}", text, is_file=number % 3 == 0)
                sleep(chance.uniform(0, 1))
                service.process.send_signal(number_of_signal)

                assert service.process.wait(STOP_SECONDS) == 0
                note("stop")
                service.start()
                owner.check()
