"""``make faults-peers``: five faults in Strata, LlamaIndex and Haystack, side by side."""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.corpus import State
from benchmarks.peers.endpoint import endpoint_serving
from benchmarks.peers.faults import DOCUMENTS, FAULTS, Fault, Outcome
from benchmarks.peers.systems import Peer, Strata, System
from tests.qdrant_loopback.faults import Action
from tests.qdrant_loopback.process import qdrant_loopback

PACKAGES = [
    "llama-index-core",
    "llama-index-vector-stores-qdrant",
    "haystack-ai",
    "qdrant-haystack",
]
UPSERT_SECONDS = 0.2  # of the stand-in for Qdrant, so that a kill can come between two
PEERS = {
    "LlamaIndex, upserts": "benchmarks.peers.llamaindex --strategy upserts",
    "LlamaIndex, upserts_and_delete": "benchmarks.peers.llamaindex --strategy upserts_and_delete",
    "Haystack, overwrite": "benchmarks.peers.haystack",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--system", choices=["Strata", *PEERS], action="append")
    parser.add_argument("--fault", choices=[fault.__name__ for fault in FAULTS], action="append")
    given = parser.parse_args()

    print(", ".join(f"{name} {version(name)}" for name in PACKAGES))
    print(f"\nlost/orphaned/doubled/stale, of {len(DOCUMENTS)} documents of one chunk each\n")
    print("| fault | system | at rest | run again | embedded again | whole |")
    print("|---|---|---|---|---:|---|", flush=True)
    for fault in FAULTS:
        if given.fault and fault.__name__ not in given.fault:
            continue
        for name in ["Strata", *PEERS]:
            if given.system and name not in given.system:
                continue
            outcome = meet(name, fault)
            row = [
                fault.__doc__ or "",
                name,
                _shown(outcome.at_rest),
                _shown(outcome.run_again),
                str(outcome.repeated_count),
                _whole(outcome),
            ]
            print(f"| {' | '.join(row)} |", flush=True)


def meet(name: str, fault: Fault) -> Outcome:
    """One system, new and empty, meets one fault."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="strata-peers-")))
        endpoint = running.enter_context(endpoint_serving())
        system: System
        if name == "Strata":
            system = strata = Strata(endpoint.url, folder)
            running.callback(strata.stop)
        else:
            qdrant = running.enter_context(qdrant_loopback())
            qdrant.fault(Action.DELAY, "upsert", count=1_000, seconds=UPSERT_SECONDS)
            system = Peer(name, PEERS[name], qdrant.url, endpoint.url, folder)
        started = time.monotonic()
        outcome = fault(system, endpoint)
        print(f"{fault.__name__}, {name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        return outcome


def _shown(state: State) -> str:
    return f"{state.lost}/{state.orphaned}/{state.doubled}/{state.stale}"


def _whole(outcome: Outcome) -> str:
    if outcome.at_rest.is_sound:
        return "by itself"
    return "once it is run again" if outcome.run_again.is_sound else "never, by itself or again"


if __name__ == "__main__":
    main()
