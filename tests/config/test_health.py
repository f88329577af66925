"""The readiness check and ``doctor`` tell what is not well."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import timedelta

import pytest
from celery import Celery
from django.core.cache import cache
from django.utils import timezone
from rest_framework.test import APIClient

from config import health, web_threads
from config.health import BEAT, HeartbeatScheduler, record_heartbeats
from config.management.commands import doctor
from core.apps import list_queues
from indexing.models import IndexedDocument, Throughput
from indexing.services import make_documents_due
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.serving import ROOT

URL = "/health/ready"


@pytest.fixture(autouse=True)
def alive(build):
    cache.clear()
    record_heartbeats([*list_queues(), BEAT])
    return build


def ask() -> tuple[int, dict[str, object]]:
    answer = APIClient().get(URL)
    return answer.status_code, answer.json()


def test_beat_goes_on_when_the_clock_is_set_back():
    app = Celery(broker="memory://", set_as_current=False)
    every_minute = {"task": "reconcile", "schedule": 60.0}
    app.conf.beat_schedule = {"first": every_minute, "second": every_minute}
    scheduler = HeartbeatScheduler(app)
    scheduler.tick()
    for entry in scheduler.schedule.values():
        entry.last_run_at += timedelta(days=1)  # as after a day, which is then set back
    scheduler.populate_heap()

    assert scheduler.tick() <= 60
    assert max(entry.last_run_at for entry in scheduler.schedule.values()) <= scheduler.app.now()


def test_workers_and_beat_without_heartbeats_are_named():
    cache.clear()
    record_heartbeats([name for name in list_queues() if name != "llm"])

    assert ask() == (200, {"status": "degraded", "problems": ["workers", "beat"]})
    checks = client_with_key().get(URL).json()["checks"]
    assert checks["workers"] == "No worker of the queues llm was alive for 60 seconds."


def test_a_disk_that_takes_no_uploads_is_named(settings):
    settings.STRATA_MIN_FREE_BYTES = 2**60

    assert ask() == (200, {"status": "degraded", "problems": ["disk"]})
    assert "MiB of disk are free" in client_with_key().get(URL).json()["checks"]["disk"]


def test_threads_that_are_all_taken_make_the_service_unavailable(monkeypatch):
    monkeypatch.setattr(web_threads, "TAKEN_SECONDS", 0)
    threads = web_threads.WebThreads(2, "test")
    monkeypatch.setattr(health, "web_threads", threads)
    release, barrier = threading.Event(), threading.Barrier(3)

    def wait_for_a_slow_host():
        barrier.wait(60)
        assert release.wait(60)

    try:
        taken = [threads.submit(wait_for_a_slow_host) for _ in range(2)]
        barrier.wait(60)
        stuck = ask()
        checks = client_with_key().get(URL).json()["checks"]
        release.set()
        assert [each.result(60) for each in taken] == [None, None]
        freed = ask()
    finally:
        release.set()
        threads.shutdown()

    assert stuck == (503, {"status": "unavailable", "problems": ["threads"]})
    assert checks["threads"].startswith("All that answer requests have been taken")
    assert freed == (200, {"status": "ready", "problems": []})


def test_a_free_thread_or_one_that_became_free_is_enough(monkeypatch):
    threads = web_threads.WebThreads(2, "test")
    release = threading.Event()
    try:
        threads.submit(release.wait, 60)
        for _ in range(20):  # short requests, of which each takes the last thread
            threads.submit(int).result(60)

        monkeypatch.setattr(web_threads, "TAKEN_SECONDS", 0)
        assert not threads.are_stuck()
    finally:
        release.set()
        threads.shutdown()


def test_redis_that_does_not_answer_is_named(settings):
    settings.CACHES = {
        "default": {
            "BACKEND": "config.caches.FaultTolerantRedisCache",
            "LOCATION": "redis://127.0.0.1:1",
        }
    }

    assert ask() == (200, {"status": "degraded", "problems": ["redis"]})


def test_failed_nodes_are_named(alive):
    artifact = give()
    sync(alive, artifact)
    IndexedDocument.objects.update(state="failed")

    assert ask() == (200, {"status": "degraded", "problems": ["documents"]})


def test_documents_that_wait_while_nothing_is_done_are_named(alive):
    artifact = give()
    make_documents_due([alive.pk], [artifact.pk])
    assert ask()[1]["problems"] == []
    IndexedDocument.objects.update(due_at=timezone.now() - timedelta(minutes=16))
    stalled = ask()[1]
    Throughput.objects.create(work="embedding", count=1, seconds=1)

    assert stalled == {"status": "degraded", "problems": ["documents"]}
    assert ask()[1]["problems"] == []  # a long import


def test_a_vectors_folder_that_is_deleted_makes_the_service_unavailable(settings):
    settings.STRATA_VECTORS_DIR.rename(settings.STRATA_VECTORS_DIR.with_name("gone"))

    assert ask() == (503, {"status": "unavailable", "problems": ["vectors"]})
    settings.STRATA_VECTORS_DIR.with_name("gone").rename(settings.STRATA_VECTORS_DIR)


def test_doctor_finds_damaged_pages_of_the_database(idle):
    idle.manage("status")  # migrates
    path = idle.data_dir / "strata.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [page_size] = database.execute("PRAGMA page_size").fetchone()
        named = "SELECT rootpage FROM sqlite_master WHERE name = 'django_session'"
        [page] = database.execute(named).fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * page_size)
        file.write(b"\xff" * page_size)

    found = idle.manage("doctor")

    assert "Its file is damaged" in found.stdout
    assert found.returncode == 1


def test_doctor_asks_the_running_server_for_its_parts(served):
    served.data_dir.joinpath("vectors").rename(served.data_dir / "away")
    found = served.manage("doctor")
    served.data_dir.joinpath("away").rename(served.data_dir / "vectors")

    assert f"The service runs at {served.url}" in found.stdout
    assert "fail vectors   The folder of the vectors is away" in found.stdout
    assert "ok   workers" in found.stdout


def test_doctor_checks_the_port_on_which_gunicorn_listens(monkeypatch):
    monkeypatch.setenv("STRATA_LISTEN", "0.0.0.0:8123")

    assert doctor._find_port() == 8123


WATCHED = """
import django
django.setup()
from celery.worker import state
from threading import Event
from config import embedded
done = Event()
embedded.app.task(name="probe")(done.set)
workers = embedded.InProcessCelery()
workers.start()
first, periodic = workers._thread, workers._beat
state.should_stop = 0  # as an error that ends its loop
periodic.stop()
first.join(30)
periodic.join(30)
print(first.is_alive(), periodic.is_alive())
workers.revive()
print(workers._thread.is_alive(), workers._beat.is_alive())
embedded.app.send_task("probe")
print(done.wait(30))
workers.stop()
"""


# Files that are never read to their end, and what a finding in another index needs meanwhile.
BUSY_READING = """
import django
django.setup()
from threading import Event
from uuid import uuid4
from config import embedded
from documents import reading
app, planned, synced, may_end = embedded.app, Event(), Event(), Event()
app.autodiscover_tasks(force=True)
started = []
def read(artifact_id):
    started.append(artifact_id)
    may_end.wait()
reading.parse_artifact = read
app.tasks["indexing.tasks.plan_build"].run = lambda build_id: planned.set()
app.tasks["indexing.tasks.sync_nodes"].run = lambda build_id: synced.set()
workers = embedded.InProcessCelery()
workers.start()
for number in range(30):
    app.tasks["documents.tasks.parse_artifact"].delay(artifact_id=str(uuid4()))
while not started:
    may_end.wait(0.01)
app.tasks["indexing.tasks.plan_build"].delay(build_id=1)
app.tasks["indexing.tasks.sync_nodes"].delay(build_id=1)
print(planned.wait(20), synced.wait(20), len(started) < 30)
may_end.set()
workers.stop()
"""


def run_in_process(program, data_dir):
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
        "STRATA_DATA_DIR": str(data_dir),
    }
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_threads_of_the_workers_that_ended_are_started_again(tmp_path):
    found = run_in_process(WATCHED, tmp_path)

    assert found.stdout.split() == ["False", "False", "True", "True", "True"], found.stderr
    assert "it is started again" in found.stderr


def test_planning_and_syncing_do_not_wait_for_files(tmp_path):
    found = run_in_process(BUSY_READING, tmp_path)

    assert found.stdout.split() == ["True", "True", "True"], found.stderr
