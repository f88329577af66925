"""The faults, each brought about in the same way in every system."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers.corpus import SIGNATURE, Document, State
from benchmarks.peers.endpoint import Endpoint
from benchmarks.peers.systems import System

DOCUMENTS = [Document(number) for number in range(240)]
EDITED = [Document(d.number, 2) if d.number < 80 else d for d in DOCUMENTS]
KILL_AT = 160  # texts embedded


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the fault left, what was left after the same was run again, and what that cost."""

    at_rest: State
    run_again: State
    repeated_count: int  # embeddings of texts the same model had embedded already


Fault = Callable[[System, Endpoint], Outcome]


def killed_while_embedding(system: System, endpoint: Endpoint) -> Outcome:
    """kill -9 while it embeds"""
    endpoint.once(KILL_AT, lambda texts: _kill(system))
    system.begin(DOCUMENTS, "a")
    system.rest()
    return _run_again(system, endpoint, DOCUMENTS)


def killed_while_writing(system: System, endpoint: Endpoint) -> Outcome:
    """kill -9 while it writes points"""
    system.begin(DOCUMENTS, "a")
    while not system.has_points():
        time.sleep(0.01)
    system.kill()
    return _run_again(system, endpoint, DOCUMENTS)


def failed_while_editing(system: System, endpoint: Endpoint) -> Outcome:
    """one embedding call of an update fails"""
    system.begin(DOCUMENTS, "a")
    system.rest()
    endpoint.once(40, lambda texts: False)
    system.begin(EDITED, "a")
    system.rest()
    return _run_again(system, endpoint, EDITED)


def deleted_while_embedding(system: System, endpoint: Endpoint) -> Outcome:
    """a document is deleted while its update is embedded"""
    system.begin(DOCUMENTS, "a")
    system.rest()
    gone: list[Document] = []

    def delete(texts: list[str]) -> bool:
        found = SIGNATURE.search(texts[0])
        assert found
        gone.append(Document(*map(int, found.groups())))
        system.remove(gone[0])
        return True

    endpoint.once(40, delete)
    system.begin(EDITED, "a")
    system.rest()
    return _run_again(system, endpoint, [d for d in EDITED if d not in gone])


def changed_model(system: System, endpoint: Endpoint) -> Outcome:
    """the embedding model changes"""
    system.begin(DOCUMENTS, "a")
    system.rest()
    system.begin(DOCUMENTS, "b")
    system.rest()
    return _run_again(system, endpoint, DOCUMENTS, "b")


FAULTS: list[Fault] = [
    killed_while_embedding,
    killed_while_writing,
    failed_while_editing,
    deleted_while_embedding,
    changed_model,
]


def _kill(system: System) -> bool:
    system.kill()
    return False


def _run_again(
    system: System, endpoint: Endpoint, documents: list[Document], model: str = "a"
) -> Outcome:
    assert endpoint.is_over, "the fault never struck"
    at_rest = State.compare(system.points(), documents, model)
    system.begin(documents, model)
    system.rest()
    run_again = State.compare(system.points(), documents, model)
    return Outcome(at_rest, run_again, endpoint.repeated_count)
