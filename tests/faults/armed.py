"""A service that kills itself at a given step."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import httpx

from tests.serving import Service

DEATH_SECONDS = 60
KILLING = "Whoever embeds this sentence dies."


class ArmedService(Service):
    program: ClassVar[tuple[str, ...]] = ("-m", "tests.faults.launch")

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.armed = data_dir / "armed.json"
        settings = {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "STRATA_FAULT_ARMED": str(self.armed),
        }
        super().__init__(data_dir, **{**settings, **environment})

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
