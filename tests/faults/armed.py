"""A service that kills itself at a given step."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import httpx

from tests.serving import ROOT, Process, Service

DEATH_SECONDS = 60
KILLING = "Whoever embeds this sentence dies."

# The libraries that take most of a start. Services are forked from a process that has imported
# them, and nothing of Strata, which reads its settings while it is imported.
LIBRARIES = [
    "celery.app.trace", "django.contrib.admin", "drf_spectacular", "haystack", "lxml.etree",
    "llama_index.core", "numpy", "onnxruntime", "openai", "qdrant_client", "uvicorn",
]  # fmt: skip
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(LIBRARIES)


def launch(arguments: list[str], environment: Mapping[str, str], log: Path) -> None:
    """Run a command of the armed service in this new process."""
    with log.open("ab") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    from tests.faults.launch import run  # reads the environment

    run(arguments)


class Forked:
    """A forked process, with the methods of ``subprocess.Popen``."""

    def __init__(self, *arguments: object) -> None:
        self._process = _forks.Process(target=launch, args=arguments, daemon=True)
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
            raise subprocess.TimeoutExpired("serve", timeout or 0)
        return self.returncode

    def send_signal(self, number: int, /) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ArmedService(Service):
    program: ClassVar[tuple[str, ...]] = ("-m", "tests.faults.launch")

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.armed = data_dir / "armed.json"
        settings = {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "STRATA_FAULT_ARMED": str(self.armed),
        }
        super().__init__(data_dir, **{**settings, **environment})

    def spawn(self, *arguments: str) -> Process:
        return Forked(list(arguments), self.environment, self.log)

    def arm(self, step: str, moment: str = "before", call: int = 1) -> None:
        """Make it die ``moment`` the ``call``-th time it reaches this step from now on."""
        draft = self.armed.with_suffix(".new")
        draft.write_text(json.dumps({"step": step, "moment": moment, "call": call}))
        draft.replace(self.armed)

    def disarm(self) -> None:
        self.armed.unlink(missing_ok=True)

    def is_dead(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None

    def await_death(self) -> None:
        """Wait until it has killed itself."""
        assert self.process is not None
        assert self.process.wait(timeout=DEATH_SECONDS) == -signal.SIGKILL, self.log.read_text()


@contextmanager
def armed(data_dir: Path, **environment: str) -> Iterator[ArmedService]:
    """Start a service for the block, and stop it afterwards."""
    service = ArmedService(data_dir, **environment)
    service.start()
    try:
        yield service
    finally:
        service.stop()
        service.api.close()


def do_all(service: ArmedService, deeds: list[Callable[[], None]]) -> None:
    """Repeat each action until it is acknowledged; the service dies meanwhile and is restarted."""
    waiting = list(deeds)
    has_died = False
    while waiting:
        try:
            waiting[0]()
        except httpx.TransportError:
            assert not has_died, "it was to die once"
            service.await_death()
            has_died = True
            service.disarm()
            service.start()
        else:
            waiting.pop(0)
    if not has_died:
        service.await_death()
        service.disarm()
        service.start()
