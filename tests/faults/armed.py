"""A service that kills itself at a given step."""

import json
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import httpx

from tests.forked import ForkedService
from tests.serving import started

DEATH_SECONDS = 60
KILLING_TEXT = "Embedding this sentence kills the process."


class ArmedService(ForkedService):
    program: ClassVar[tuple[str, ...]] = ("-m", "tests.faults.launch")

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.armed = data_dir / "armed.json"
        settings = {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "STRATA_FAULT_ARMED": str(self.armed),
        }
        super().__init__(data_dir, **{**settings, **environment})

    def arm(self, step: str, moment: str = "before", call: int = 1) -> None:
        """Make it kill itself ``moment`` (before or after) the ``call``-th time of this step."""
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


def armed(data_dir: Path, **environment: str) -> AbstractContextManager[ArmedService]:
    """Start a service for the block, and stop it afterwards."""
    return started(ArmedService(data_dir, **environment))


def do_all(service: ArmedService, deeds: list[Callable[[], None]]) -> None:
    """Repeat each action until it is acknowledged; restart the service after it killed itself."""
    waiting = list(deeds)
    has_died = False
    while waiting:
        try:
            waiting[0]()
        except httpx.TransportError:
            assert not has_died, "The service died twice."
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
