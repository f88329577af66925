"""Faults between a client and the server, requested and counted."""

import threading
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

ANY = "any"  # every call


class Action(StrEnum):
    FAIL = "fail"  # answered with ``status`` and ``detail``; nothing is done
    DELAY = "delay"  # done and answered, ``seconds`` later
    DROP = "drop"  # the connection breaks; nothing is done
    LOSE = "lose"  # done, then the connection breaks before the answer
    HANG = "hang"  # done, then the connection breaks after ``seconds`` without an answer


@dataclass
class Fault:
    """What happens to the next ``count`` calls of a kind."""

    action: Action
    call: str = ANY
    count: int = 1
    status: int = 503
    detail: str = "Service internal error: a fault was requested."  # empty: no body
    is_json: bool = True  # false: plain text, as Qdrant answers a wrong key
    retry_after: int | None = None  # the header, in seconds
    seconds: float = 0.0


class Faults:
    """The pending faults, in the order of requests, and counts of those that happened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[Fault] = []
        self.fired: Counter[str] = Counter()  # "action call" -> how often it happened
        self.served: Counter[str] = Counter()  # call -> how often it was requested

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._pending.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._pending.clear()

    def take(self, call: str) -> Fault | None:
        """The fault of this call, if there is one."""
        with self._lock:
            self.served[call] += 1
            for fault in self._pending:
                if fault.call in {call, ANY}:
                    break
            else:
                return None
            fault.count -= 1
            if fault.count <= 0:
                self._pending.remove(fault)
            self.fired[f"{fault.action} {call}"] += 1
            return fault

    def as_json(self) -> dict[str, dict[str, int] | int]:
        with self._lock:
            return {
                "fired": dict(self.fired),
                "served": dict(self.served),
                "pending": sum(fault.count for fault in self._pending),
            }
