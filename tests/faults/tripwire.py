"""Raise an exception at the n-th call of chosen functions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest
from django.db import OperationalError, connections

from indexing.exceptions import EmbeddingUnavailable, StoreBusy, StoreRefused, StoreUnavailable
from indexing.stores import get_store
from indexing.stores.base import VectorStore
from tests.faults.owner import Refused
from tests.hashing import HashingEmbedder

MakeError = Callable[[], BaseException]
Wiring = Callable[["Tripwire", pytest.MonkeyPatch], None]


TRANSACTIONAL = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK")


class Tripwire:
    """Counts calls, and raises once at a given one."""

    def __init__(self, *, is_after: bool = False) -> None:
        self.is_after = is_after  # raise after the call instead of before
        self._left = 0  # calls until it raises; 0: never
        self._make_error: MakeError = ZeroDivisionError
        self.raised: BaseException | None = None

    def set(self, call: int, make_error: MakeError = ZeroDivisionError) -> None:
        self._left, self._make_error = call, make_error
        self.raised = None

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._left -= 1
        if self._left != 0:
            return function(*args, **kwargs)
        if self.is_after:
            function(*args, **kwargs)
        self.raised = self._make_error()
        raise self.raised

    def is_cause(self, error: BaseException | None) -> bool:
        """Whether this error is the injected one, or was caused by it."""
        while error is not None:
            if error is self.raised:
                return True
            error = error.__cause__ or error.__context__
        return False


def wire_methods(wire: Tripwire, patched: pytest.MonkeyPatch, owner: Any, names: list[str]) -> None:
    for name in names:
        function = getattr(owner, name)
        patched.setattr(owner, name, _count_calls(wire, function))


def _count_calls(wire: Tripwire, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return wire.call(function, *args, **kwargs)

    return call


def wire_store(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    names = sorted(VectorStore.__abstractmethods__ - {"close"})
    wire_methods(wire, patched, get_store(), names)


def wire_model(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    names = ["embed_documents", "embed_query", "count_tokens"]
    wire_methods(wire, patched, HashingEmbedder, names)


def wire_statements(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    def execute(execute: Any, sql: str, *args: Any) -> Any:
        # Not after these statements: if they fail, the connection is lost, which rolls back.
        if wire.is_after and sql.startswith(TRANSACTIONAL):
            return execute(sql, *args)
        return wire.call(execute, sql, *args)

    patched.setattr(connections["default"], "execute_wrappers", [execute])


def wire_commits(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    wire_methods(wire, patched, connections["default"], ["_commit"])


@contextmanager
def installed(
    wire: Tripwire, wiring: Wiring, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tripwire]:
    """Install the wire for the block, and remove it afterwards."""
    with monkeypatch.context() as patched:
        wiring(wire, patched)
        yield wire


def store_away() -> Exception:
    return StoreUnavailable("The store went away.")


def store_refuses() -> Exception:
    return StoreRefused("The store refuses the key.")


def store_busy() -> Exception:
    busy = StoreBusy("The store answers later.")
    busy.retry_after = 0.01  # seconds
    return busy


def model_away() -> Exception:
    return EmbeddingUnavailable("The model went away.")


def defect() -> Exception:
    return ZeroDivisionError("A defect.")


class Killed(BaseException):
    """Simulates a killed process: nothing handles it, so leases stay and no cleanup runs."""


def killed() -> BaseException:
    return Killed("The process is gone.")


def database_away() -> Exception:
    return OperationalError("The database went away.")


def check_refusal(refused: Refused, wire: Tripwire) -> None:
    """Check that only the injected fault fails, and that the error says whether a retry helps."""
    assert wire.raised is not None, refused
    if isinstance(wire.raised, ZeroDivisionError):
        assert refused.answer.status_code == 500
    else:
        assert refused.answer.status_code == 503
        if not isinstance(wire.raised, StoreRefused):  # a retry does not help
            assert int(refused.answer.headers["Retry-After"]) > 0
