"""Ask again for responses that were truncated at their limit of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from summaries.exceptions import InvalidCompletion, LanguageModelError
from summaries.llm.language_model import Completion, LanguageModel

T = TypeVar("T", bound=BaseModel)

MAX_TOKENS = 1_024  # of a response
BILLED = ("call_count", "prompt_tokens", "completion_tokens")
MORE_MAX_TOKENS = 4_096  # of a response that was truncated at MAX_TOKENS
ASK_FOR_LESS = (
    "Your last answer was too long and was cut off. Write much shorter texts and shorter lists, "
    "and end the JSON."
)


def complete_in_room(
    model: LanguageModel,
    system: str,
    user: str,
    schema: type[T],
    find_fault: Callable[[T], str | None] | None,
) -> Completion[T]:
    """Complete as ``LanguageModel.complete`` does; if the response is truncated, ask again with
    more room, then for a shorter one. The result or the error has the cost of all calls."""
    attempts = [
        (user, MAX_TOKENS),
        (user, MORE_MAX_TOKENS),
        (f"{user}\n\n{ASK_FOR_LESS}", MAX_TOKENS),
    ]
    failures: list[LanguageModelError] = []
    for request, max_tokens in attempts:
        try:
            completion = model.complete(
                system, request, schema, max_tokens=max_tokens, find_fault=find_fault
            )
        except LanguageModelError as error:
            is_truncated = isinstance(error, InvalidCompletion) and error.is_truncated
            # The larger request may be refused because it exceeds the model's context.
            if error.is_expected or not (is_truncated or failures):
                raise _add_cost(error, failures) from None
            failures.append(error)
        else:
            return replace(
                completion,
                **{name: getattr(completion, name) + _sum_cost(failures, name) for name in BILLED},
            )
    raise _add_cost(failures[0], failures[1:])


def _add_cost(
    error: LanguageModelError, others: Sequence[LanguageModelError]
) -> LanguageModelError:
    for name in BILLED:
        setattr(error, name, getattr(error, name) + _sum_cost(others, name))
    return error


def _sum_cost(errors: Sequence[LanguageModelError], name: str) -> int:
    return sum(getattr(error, name) for error in errors)
