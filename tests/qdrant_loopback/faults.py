"""What may go wrong between a client and the server, on request and counted."""

import threading
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

ANY = "any"  # every call


class Action(StrEnum):
    FAIL = "fail"  # answered with ``status`` and ``detail``; nothing is done
    DELAY = "delay"  # done and answered, ``seconds`` later
    DROP = "drop"  # the connection breaks; nothing is done
    LOSE = "lose"  # done, and the connection breaks instead of an answer
    HANG = "hang"  # done, and no answer within ``seconds``; then the connection breaks


@dataclass
class Fault:
    """What happens to the next ``count`` calls of a kind."""

    action: Action
    call: str = ANY
    count: int = 1
    status: int = 503
    detail: str = "Service internal error: a fault was asked for."  # empty: no body, as elsewhere
    is_json: bool = True  # a server refuses a wrong key in plain text
    retry_after: int | None = None  # the header, in seconds
    seconds: float = 0.0


class Faults:
    """Those still to come, in the order they were asked for, and those that were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coming: list[Fault] = []
        self.fired: Counter[str] = Counter()  # "action call" -> how often
        self.served: Counter[str] = Counter()  # call -> how often it was asked for

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._coming.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._coming.clear()

    def take(self, call: str) -> Fault | None:
        """What this call meets, if anything."""
        with self._lock:
            self.served[call] += 1
            for fault in self._coming:
                if fault.call in {call, ANY}:
                    break
            else:
                return None
            fault.count -= 1
            if fault.count <= 0:
                self._coming.remove(fault)
            self.fired[f"{fault.action} {call}"] += 1
            return fault

    def as_json(self) -> dict[str, dict[str, int] | int]:
        with self._lock:
            return {
                "fired": dict(self.fired),
                "served": dict(self.served),
                "coming": sum(fault.count for fault in self._coming),
            }
