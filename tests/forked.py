"""Start Python programs fast: fork them from a process that has imported the libraries.

That process has not imported Strata, which reads its settings when it is imported.
"""

import multiprocessing
import os
import runpy
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import cache
from pathlib import Path

from tests.serving import ROOT, Process, Service, started

MANAGE_SECONDS = 300
LIBRARIES = [
    "authlib.integrations.django_oauth2", "celery.app.amqp", "celery.app.control",
    "celery.app.trace", "celery.worker.consumer", "cryptography.fernet", "django.contrib.admin",
    "django.contrib.postgres.fields", "django.core.asgi", "django.core.management.commands.migrate",
    "django.db.backends.sqlite3.base", "django.test", "drf_spectacular", "haystack", "joserfc.jwt",
    "llama_index.core.retrievers", "lxml.etree", "numpy", "onnxruntime", "openai",
    "prometheus_client", "psycopg", "qdrant_client", "qdrant_edge", "redis", "regex",
    "uvicorn.protocols.http.httptools_impl", "tests.freeze",
]  # fmt: skip
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(LIBRARIES)


def _run(
    arguments: Sequence[str], environment: Mapping[str, str], output: Path, errors: Path
) -> None:
    """Run ``python *arguments`` in the new process."""
    os.setsid()  # its children can be killed with it
    for stream, path in ((sys.stdout, output), (sys.stderr, errors)):
        with path.open("ab") as file:
            os.dup2(file.fileno(), stream.fileno())
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments)
        runpy.run_path(arguments[0], run_name="__main__")


class Forked:
    """A forked process, with the methods of ``subprocess.Popen``."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: Path,
        errors: Path | None = None,
    ) -> None:
        self.args = arguments
        self._process = _forks.Process(
            target=_run, args=(arguments, environment, output, errors or output), daemon=True
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
        return self.returncode

    def send_signal(self, number: int, /) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run_forked(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run ``python *arguments`` until it ends."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        process = Forked(arguments, environment, output, errors)
        try:
            status = process.wait(MANAGE_SECONDS)
        finally:
            process.kill()
        return subprocess.CompletedProcess(
            arguments, status, output.read_text(), errors.read_text()
        )


DATABASE = "strata.sqlite3"


@cache
def _read_migrated_database() -> bytes:
    """A database after all migrations, which take a second."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
            "STRATA_DATA_DIR": folder,
        }
        log = Path(folder, "log")
        command = Forked(["manage.py", "migrate", "--verbosity", "0"], environment, log)
        assert command.wait(MANAGE_SECONDS) == 0, log.read_text()
        with closing(sqlite3.connect(Path(folder, DATABASE))) as connection:
            return connection.serialize()


class ForkedService(Service):
    def spawn(self, *arguments: str) -> Process:
        self._ensure_database()
        return Forked([*self.program, *arguments], self.environment, self.log)

    def _ensure_database(self) -> None:
        database = self.data_dir / DATABASE
        if not database.exists():
            database.write_bytes(_read_migrated_database())

    def manage(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        self._ensure_database()
        return run_forked([*self.program, *arguments], self.environment)


def serving_forked(data_dir: Path, **environment: str) -> AbstractContextManager[ForkedService]:
    """Start a service for the block, and stop it afterwards."""
    return started(ForkedService(data_dir, **environment))
