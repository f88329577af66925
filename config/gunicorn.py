"""Gunicorn's configuration in the production form: ``gunicorn -c python:config.gunicorn``.

gunicorn itself reads ``WEB_CONCURRENCY`` (processes; each loads the model).
"""

import os
from pathlib import Path
from typing import Any

wsgi_app = "config.wsgi:application"
bind = os.environ.get("STRATA_LISTEN", "127.0.0.1:8000")
# Threads, because a request waits for the model, the vectors or the database; as many as the
# embedded form has, each with a database connection of its own.
worker_class = "gthread"
threads = 8
graceful_timeout = 25  # seconds; requests under way may end, as a stop leaves 30
timeout = 120  # seconds without a sign of life, after which a process is replaced
keepalive = 75  # seconds; longer than proxies keep theirs, lest they send into a closed one
max_requests = 20_000  # then a process is replaced: large answers leave memory behind
max_requests_jitter = 2_000  # not all of them at once
accesslog = "-"  # stdout
# A sign of life is a file that is touched; on a disk that can take longer than the time above.
worker_tmp_dir = str(memory) if (memory := Path("/dev/shm")).is_dir() else None  # noqa: S108
control_socket_disable = True  # nothing asks it


def post_worker_init(worker: Any) -> None:
    """Load what the first search of a process would wait for, before it takes requests."""
    from config.preloading import preload_models_and_store

    preload_models_and_store()
