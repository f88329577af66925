"""The faults, each caused in the same way in every system."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers.corpus import SIGNATURE, Differences, Document
from benchmarks.peers.endpoint import EmbeddingEndpoint
from benchmarks.peers.systems import System

DOCUMENTS = [Document(number) for number in range(240)]
EDITED = [Document(d.number, 2) if d.number < 80 else d for d in DOCUMENTS]
KILL_AFTER_TEXTS = 160  # texts embedded


@dataclass(frozen=True, slots=True)
class FaultOutcome:
    """The differences after the fault and after the rerun, and the cost of the rerun."""

    after_fault: Differences
    after_rerun: Differences
    repeated_count: int  # embeddings of texts the same model had embedded already


Fault = Callable[[System, EmbeddingEndpoint], FaultOutcome]


def killed_while_embedding(system: System, endpoint: EmbeddingEndpoint) -> FaultOutcome:
    """kill -9 while it embeds"""
    endpoint.schedule_event(KILL_AFTER_TEXTS, lambda texts: _kill(system))
    system.start_indexing(DOCUMENTS, "a")
    system.wait_until_idle()
    return _rerun_and_compare(system, endpoint, DOCUMENTS)


def killed_while_writing(system: System, endpoint: EmbeddingEndpoint) -> FaultOutcome:
    """kill -9 while it writes points"""
    system.start_indexing(DOCUMENTS, "a")
    while not system.has_points():
        time.sleep(0.01)
    system.kill()
    return _rerun_and_compare(system, endpoint, DOCUMENTS)


def failed_while_editing(system: System, endpoint: EmbeddingEndpoint) -> FaultOutcome:
    """one embedding call of an update fails"""
    system.start_indexing(DOCUMENTS, "a")
    system.wait_until_idle()
    endpoint.schedule_event(40, lambda texts: False)
    system.start_indexing(EDITED, "a")
    system.wait_until_idle()
    return _rerun_and_compare(system, endpoint, EDITED)


def deleted_while_embedding(system: System, endpoint: EmbeddingEndpoint) -> FaultOutcome:
    """a document is deleted while its update is embedded"""
    system.start_indexing(DOCUMENTS, "a")
    system.wait_until_idle()
    gone: list[Document] = []

    def delete(texts: list[str]) -> bool:
        found = SIGNATURE.search(texts[0])
        assert found
        gone.append(Document(*map(int, found.groups())))
        system.remove_document(gone[0])
        return True

    endpoint.schedule_event(40, delete)
    system.start_indexing(EDITED, "a")
    system.wait_until_idle()
    return _rerun_and_compare(system, endpoint, [d for d in EDITED if d not in gone])


def changed_model(system: System, endpoint: EmbeddingEndpoint) -> FaultOutcome:
    """the embedding model changes"""
    system.start_indexing(DOCUMENTS, "a")
    system.wait_until_idle()
    system.start_indexing(DOCUMENTS, "b")
    system.wait_until_idle()
    return _rerun_and_compare(system, endpoint, DOCUMENTS, "b")


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


def _rerun_and_compare(
    system: System, endpoint: EmbeddingEndpoint, documents: list[Document], model: str = "a"
) -> FaultOutcome:
    assert endpoint.has_fired, "the fault never struck"
    after_fault = Differences.compare(system.read_points(), documents, model)
    system.start_indexing(documents, model)
    system.wait_until_idle()
    after_rerun = Differences.compare(system.read_points(), documents, model)
    return FaultOutcome(after_fault, after_rerun, endpoint.repeated_count)
