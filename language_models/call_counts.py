"""Counts the calls of the language model, and their tokens, in a block of code."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from core.metrics import MODEL_CALLS, MODEL_TOKENS

CHARS_PER_TOKEN: Final = 4  # of English text, where the endpoint does not count


@dataclass(slots=True)
class ModelUse:
    call_count: int = 0
    token_count: int = 0


_counted: ContextVar[ModelUse | None] = ContextVar("counted", default=None)


@contextmanager
def counting_use() -> Iterator[ModelUse]:
    """Count what the block uses, also in the tasks and threads that it starts with its context."""
    use = ModelUse()
    token = _counted.set(use)
    try:
        yield use
    finally:
        _counted.reset(token)


def note_use(*, calls: int = 0, tokens: int = 0) -> None:
    MODEL_CALLS.inc(calls)
    MODEL_TOKENS.inc(tokens)
    if (use := _counted.get()) is not None:
        use.call_count += calls
        use.token_count += tokens


def estimate_tokens(char_count: int) -> int:
    return -(-char_count // CHARS_PER_TOKEN)
