"""``make faults-peers``: five faults in Strata, LlamaIndex and Haystack, side by side."""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.corpus import Differences
from benchmarks.peers.endpoint import serve_endpoint
from benchmarks.peers.faults import DOCUMENTS, FAULTS, Fault, FaultOutcome
from benchmarks.peers.systems import Peer, StrataSystem, System
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
    parser.add_argument("--system", choices=["StrataSystem", *PEERS], action="append")
    parser.add_argument("--fault", choices=[fault.__name__ for fault in FAULTS], action="append")
    arguments = parser.parse_args()

    print(", ".join(f"{name} {version(name)}" for name in PACKAGES))
    print(f"\nlost/orphaned/doubled/stale, of {len(DOCUMENTS)} documents of one chunk each\n")
    print("| fault | system | after the fault | run again | embedded again | complete |")
    print("|---|---|---|---|---:|---|", flush=True)
    for fault in FAULTS:
        if arguments.fault and fault.__name__ not in arguments.fault:
            continue
        for name in ["StrataSystem", *PEERS]:
            if arguments.system and name not in arguments.system:
                continue
            outcome = run_fault(name, fault)
            row = [
                fault.__doc__ or "",
                name,
                _format_state(outcome.after_fault),
                _format_state(outcome.after_rerun),
                str(outcome.repeated_count),
                _describe_recovery(outcome),
            ]
            print(f"| {' | '.join(row)} |", flush=True)


def run_fault(name: str, fault: Fault) -> FaultOutcome:
    """Run one fault on a new, empty system."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="strata-peers-")))
        endpoint = running.enter_context(serve_endpoint())
        system: System
        if name == "StrataSystem":
            system = strata = StrataSystem(endpoint.url, folder)
            running.callback(strata.stop)
        else:
            qdrant = running.enter_context(qdrant_loopback())
            qdrant.fault(Action.DELAY, "upsert", count=1_000, seconds=UPSERT_SECONDS)
            system = Peer(name, PEERS[name], qdrant.url, endpoint.url, folder)
        started = time.monotonic()
        outcome = fault(system, endpoint)
        print(f"{fault.__name__}, {name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        return outcome


def _format_state(state: Differences) -> str:
    return f"{state.lost}/{state.orphaned}/{state.doubled}/{state.stale}"


def _describe_recovery(outcome: FaultOutcome) -> str:
    if outcome.after_fault.is_sound:
        return "by itself"
    return "once it is run again" if outcome.after_rerun.is_sound else "never"


if __name__ == "__main__":
    main()
