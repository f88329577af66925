"""Gunicorn's configuration in the production form: ``gunicorn -c python:config.gunicorn``.

gunicorn starts, watches and replaces processes; each serves with the web server of the embedded
form.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from gunicorn.workers.base import Worker

from config.environment import load_environment, read_int, read_listen_address

# Where the processes share their counters. A replaced process leaves about 200 KB there, until the
# server stops.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

load_environment()

wsgi_app = "config.asgi:application"
workers = read_int("WEB_CONCURRENCY", 1)  # processes; each loads the model
bind = read_listen_address("127.0.0.1:8000")
backlog = 2_048  # connections that wait in the kernel
graceful_timeout = 25  # seconds for requests under way; less than the 30 s before a kill
timeout = 120  # seconds without a heartbeat, after which a process is replaced
max_requests = 20_000  # then a process is replaced: large answers make it grow
max_requests_jitter = 2_000  # so that processes are not all replaced at once
# A heartbeat touches a file; on a disk that can take longer than ``timeout``.
worker_tmp_dir = str(memory) if (memory := Path("/dev/shm")).is_dir() else None  # noqa: S108
control_socket_disable = True  # nothing uses it
own_metrics_folder = None  # what the operator has set is not deleted
if workers > 1 and METRICS_FOLDER not in os.environ:
    own_metrics_folder = os.environ[METRICS_FOLDER] = tempfile.mkdtemp(prefix="strata-metrics-")


class worker_class(Worker):
    """A process that serves with ``config.web_server``."""

    def run(self) -> None:
        from config.web_server import WebServer

        async def send_heartbeat() -> None:
            self.notify()

        server = WebServer(
            self.wsgi,
            limit_max_requests=self.max_requests,
            timeout_graceful_shutdown=graceful_timeout - 1,
            callback_notify=send_heartbeat,
            timeout_notify=1,
        )
        server.run([each.sock for each in self.sockets])


def on_exit(server: Any) -> None:
    if own_metrics_folder is not None:
        shutil.rmtree(own_metrics_folder, ignore_errors=True)


def post_worker_init(worker: Any) -> None:
    """Make the first key, and load models, store and pipelines, before the process accepts
    requests."""
    from config.first_key import make_first_key
    from config.preloading import preload_all

    make_first_key()
    preload_all()
