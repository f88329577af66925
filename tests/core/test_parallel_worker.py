import threading

import pytest

from core.workers import ParallelWorker

PATIENCE = 20  # seconds


class Blocking:
    """Work that waits until it may end, and records what it has begun."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.may_end = threading.Event()
        self.is_begun = threading.Semaphore(0)

    def __call__(self, key: int) -> None:
        self.begun.append(key)
        self.is_begun.release()
        assert self.may_end.wait(PATIENCE)


@pytest.fixture
def work():
    work = Blocking()
    yield work
    work.may_end.set()


def start(worker: ParallelWorker[int], key: int) -> threading.Thread:
    thread = threading.Thread(target=worker.run, args=[key])
    thread.start()
    return thread


class TestParallelWorker:
    def test_takes_no_more_threads_than_it_may_and_works_on_every_key(self, work):
        worker = ParallelWorker(work, lambda: 2)
        working = [start(worker, key) for key in (1, 2)]
        for _ in working:
            assert work.is_begun.acquire(timeout=PATIENCE)

        for key in (3, 4, 5):
            worker.run(key)  # returns, although nothing has ended
        begun = sorted(work.begun)
        work.may_end.set()
        for thread in working:
            thread.join(PATIENCE)

        assert begun == [1, 2]
        assert sorted(work.begun) == [1, 2, 3, 4, 5]
        assert worker.wait_idle(0)

    def test_gives_each_group_a_turn(self, work):
        worker = ParallelWorker(work, lambda: 1)
        thread = start(worker, 0)
        assert work.is_begun.acquire(timeout=PATIENCE)
        for key in (1, 2, 3):
            worker.run(key, "many")
        worker.run(4, "few")

        work.may_end.set()
        thread.join(PATIENCE)

        assert work.begun == [0, 1, 4, 2, 3]

    def test_begins_nothing_after_a_stop_request(self, work):
        worker = ParallelWorker(work, lambda: 1)
        thread = start(worker, 1)
        assert work.is_begun.acquire(timeout=PATIENCE)
        worker.run(2)

        worker.stop_requested.set()
        is_idle_before = worker.wait_idle(0)
        work.may_end.set()

        assert not is_idle_before
        assert worker.wait_idle(PATIENCE)
        thread.join(PATIENCE)
        assert work.begun == [1]

    def test_works_on_after_an_error(self):
        done = []

        def fail_once(key):
            done.append(key)
            if len(done) == 1:
                raise ZeroDivisionError

        worker = ParallelWorker(fail_once, lambda: 1)

        with pytest.raises(ZeroDivisionError):
            worker.run(1)
        worker.run(2)

        assert done == [1, 2]
