import threading
import time

import pytest

from core.workers import BatchWorker


class Recorder(BatchWorker[str]):
    """Finds nothing left after each batch, and records the batches."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.seconds = 0.3

    def run_batch(self, key: str) -> bool:
        time.sleep(self.seconds)
        self.done.append(key)
        return False


@pytest.fixture
def worker() -> Recorder:
    """A worker whose key ``first`` rests, as long as its work took."""
    recorder = Recorder()
    recorder.run("first")
    recorder.seconds = 0
    return recorder


def run_at_once(worker: Recorder, keys: list[str]) -> None:
    threads = [threading.Thread(target=worker.run, args=[key]) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class TestBatchWorker:
    def test_does_in_one_batch_what_comes_while_a_key_rests(self, worker):
        run_at_once(worker, ["first"] * 5)

        assert worker.done == ["first"] * 2

    def test_works_on_another_key_meanwhile(self, worker):
        run_at_once(worker, ["first", "second"])

        assert worker.done == ["first", "second", "first"]

    def test_stops_at_once_while_a_key_rests(self, worker):
        worker.stop_requested.set()

        worker.run("first")

        assert worker.done == ["first"]
