import logging
import os
import subprocess
import sys

import pytest
from celery import signals
from django.core.cache import cache

from config import worker_process
from config.celery import app
from config.health import find_late
from core.apps import list_queues, list_workers
from indexing import tasks
from indexing.model_loading import model_load_attempted
from tests.acting import record_enqueued


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    """Reset the worker's state after each test."""
    for work in list_workers():
        monkeypatch.setattr(work, "stop_requested", work.stop_requested)
    yield
    worker_process._stop_flag[0] = 0


class TestStopRequest:
    def test_stops_every_worker(self):
        worker_process.use_shared_stop_event()
        before = [work.stop_requested.is_set() for work in list_workers()]

        worker_process.set_stop_flag()

        assert before == [False] * len(list_workers())
        assert [work.stop_requested.is_set() for work in list_workers()] == [True] * len(
            list_workers()
        )

    def test_reaches_children_that_are_already_forked(self):
        reading, writing = os.pipe()
        asking, telling = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(asking, 1)
            os.write(writing, b"1" if worker_process.WorkerStopEvent().is_set() else b"0")
            os._exit(0)

        worker_process.set_stop_flag()
        os.write(telling, b".")

        assert os.read(reading, 1) == b"1"
        os.waitpid(child, 0)
        for descriptor in (reading, writing, asking, telling):
            os.close(descriptor)


class TestQueueHeartbeats:
    def test_are_recorded_for_the_queues_that_the_worker_serves(self, monkeypatch):
        cache.clear()
        monkeypatch.setattr(app.amqp, "queues", app.amqp.Queues(app.conf.task_queues))
        app.amqp.queues.select(["llm", "webhooks"])

        signals.heartbeat_sent.send(None)

        assert find_late(list_queues()) == ["planning", "documents", "indexing", "sources"]


class TestTouchHeartbeatFile:
    def test_touches_the_configured_file(self, settings, tmp_path):
        settings.STRATA_HEARTBEAT_FILE = str(tmp_path / "alive")

        worker_process.touch_heartbeat_file()

        assert (tmp_path / "alive").exists()


class TestLogging:
    def test_keeps_the_levels_and_handlers_of_the_settings(self):
        from celery import Celery

        root = logging.getLogger()
        before = root.level, list(root.handlers)

        Celery("another").log.setup_logging_subsystem(loglevel="DEBUG")

        assert (root.level, list(root.handlers)) == before


class TestResumeWorkAfterLoading:
    def test_reconciles_indexes_after_a_model_was_loaded_or_failed(self, monkeypatch):
        wakes = record_enqueued(monkeypatch, tasks.reconcile_indexes)
        monkeypatch.setattr(model_load_attempted, "receivers", [])
        worker_process.resume_work_after_loading()

        model_load_attempted.send(None)

        assert wakes == [("reconcile_indexes", {})]


class TestImportLibrariesBeforeForking:
    def test_imports_the_libraries_that_children_need(self, tmp_path):
        program = (
            "import django, sys; django.setup()\n"
            "from config.worker_process import import_libraries_before_forking\n"
            "import_libraries_before_forking()\n"
            "print(*sys.modules, sep='\\n')"
        )
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
            "STRATA_DATA_DIR": str(tmp_path),
        }

        printed = subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True
        ).stdout.decode()

        imported = set(printed.splitlines())
        assert imported >= {"llama_index.core.schema", "qdrant_client", "onnxruntime", "tokenizers"}
