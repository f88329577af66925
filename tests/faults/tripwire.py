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
        self.is_after = is_after  # raise after the call was done
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


def string_across(
    wire: Tripwire, patched: pytest.MonkeyPatch, owner: Any, names: list[str]
) -> None:
    for name in names:
        function = getattr(owner, name)
        patched.setattr(owner, name, _count_and_translate_errors(wire, function))


def _count_and_translate_errors(wire: Tripwire, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return wire.call(function, *args, **kwargs)

    return call


def wire_store(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    names = sorted(VectorStore.__abstractmethods__ - {"close"})
    string_across(wire, patched, get_store(), names)


def wire_model(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    names = ["embed_documents", "embed_query", "count_tokens"]
    string_across(wire, patched, HashingEmbedder, names)


def wire_statements(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    def execute(execute: Any, sql: str, *args: Any) -> Any:
        # A transaction cannot have begun with an error: a lost connection rolls it back.
        if wire.is_after and sql.startswith(TRANSACTIONAL):
            return execute(sql, *args)
        return wire.call(execute, sql, *args)

    patched.setattr(connections["default"], "execute_wrappers", [execute])


def wire_commits(wire: Tripwire, patched: pytest.MonkeyPatch) -> None:
    string_across(wire, patched, connections["default"], ["_commit"])


@contextmanager
def strung(wire: Tripwire, wiring: Wiring, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tripwire]:
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
    return ZeroDivisionError("Something nobody thought of.")


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
        if not isinstance(wire.raised, StoreRefused):  # which no retry mends
            assert int(refused.answer.headers["Retry-After"]) > 0
