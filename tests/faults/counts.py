"""How often each fault is injected: a few times by default, many with ``STRATA_FAULT_LONG=1``.

A test asks ``times`` how often, and calls ``note`` for each fault that really happened. The counts
are printed at the end of the run, and written to ``STRATA_FAULT_TABLE`` if that is set.
"""

import os
from collections import Counter
from dataclasses import dataclass

IS_LONG = os.environ.get("STRATA_FAULT_LONG") == "1"


@dataclass(frozen=True, slots=True)
class Fault:
    what: str
    short: int
    long: int


FAULTS = {
    "kill": Fault("kill -9 at a random moment", 2, 20),
    "kill-step": Fault("kill -9 before or after a named step", 1, 3),  # times each step
    "kill-build": Fault("kill -9 while an embedding model is changed", 1, 3),  # times each step
    "raise": Fault("an exception at the n-th call", 1, 1),  # rounds over all n
    "edit": Fault("a document edited while it is being indexed", 20, 200),
    "delete": Fault("a document deleted while it is being indexed", 20, 200),
    "messages": Fault("messages duplicated, reordered and lost", 10, 500),  # orders, by seed
    "full-disk": Fault("the disk full", 1, 5),
    "locked": Fault("the database locked by another process", 2, 10),
    "poison": Fault("a document that kills or blocks its parser", 1, 5),  # of each kind
    "stop": Fault("SIGINT or SIGTERM during work", 2, 20),
    "frozen": Fault(
        "a worker frozen beyond its lease, then resumed", 1, 1
    ),  # rounds of all moments
    "broker-away": Fault("a document saved while Redis refuses", 30, 1_000),
    "broker-lost": Fault("Redis stopped while its messages are processed", 3, 20),
    "broker-emptied": Fault("Redis emptied midway", 3, 30),
    "messages-doubled": Fault("messages of Redis duplicated and shuffled", 1, 10),  # rounds of 20
    "database-restarted": Fault("PostgreSQL restarted at once", 2, 20),
    "store-away": Fault("Qdrant stopped and started", 2, 20),
    "store-failing": Fault("a call of Qdrant that fails, is slow or is lost", 1, 10),  # rounds
    "store-emptied": Fault("a collection dropped or points deleted behind Strata's back", 1, 10),
    "store-late": Fault("a deletion carried out after it was given up", 1, 10),
    "worker-killed": Fault("kill -9 of a worker with its children", 2, 30),
    "worker-frozen": Fault("a worker process stopped beyond its lease, then resumed", 1, 10),
    "workers-contending": Fault("eight workers at one document", 1, 20),
    "machine": Fault("a random sequence of all of these", 10, 300),  # sequences
}

noted: Counter[str] = Counter()


def times(fault: str) -> int:
    """How often to inject the fault in this run."""
    return FAULTS[fault].long if IS_LONG else FAULTS[fault].short


def note(fault: str, count: int = 1) -> None:
    """Count a fault that has happened."""
    noted[FAULTS[fault].what] += count


def table() -> list[str]:
    """One line for each fault with its count."""
    return [f"{count:>7,}  {what}" for what, count in noted.items()]
