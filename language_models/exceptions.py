"""Errors of language model calls, and what calls cost, which their errors say too."""

from dataclasses import dataclass
from typing import Self

from core.exceptions import StrataError, Unavailable, Unprocessable


@dataclass(slots=True)
class LanguageModelCost:
    """Language model calls and tokens, as the endpoint counts them, added to the build's total."""

    call_count: int = 0  # HTTP calls, including failed ones
    reused_count: int = 0  # stored completions
    failure_count: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __iadd__(self, other: Self) -> Self:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


class InvalidPrompt(Unprocessable):
    """A prompt that a spec names is missing or not valid."""

    code = "invalid_prompt"
    is_about_setup = True


class LanguageModelError(StrataError):
    """The language model returned nothing usable."""

    code = "language_model_error"

    def __init__(self, detail: str | None = None, *, fix: str | None = None) -> None:
        super().__init__(detail, fix=fix)
        self.cost = LanguageModelCost()  # of the calls before the failure: they are billed too


class LanguageModelMissing(Unavailable, LanguageModelError):
    """No language model is configured."""

    code = "language_model_missing"
    is_retryable = False
    is_about_setup = True


class LanguageModelMisconfigured(Unavailable, LanguageModelError):
    """The language model's endpoint refuses the key, the address or the model's name."""

    code = "language_model_misconfigured"
    is_retryable = False
    is_about_setup = True


class LanguageModelCallsSpent(LanguageModelError):
    """The build has used all its allowed calls of the language model."""

    code = "language_model_calls_spent"
    is_about_setup = True


class LanguageModelUnavailable(Unavailable, LanguageModelError):
    """The language model did not answer; safe to retry."""

    code = "language_model_unavailable"


class LanguageModelSilent(LanguageModelUnavailable):
    """The language model wrote nothing in its time.

    It may be down, or too slow to begin, so that costs the text an attempt.
    """


class LanguageModelTooSlow(Unavailable, LanguageModelError):
    """The language model had begun, and did not finish in its time."""

    code = "language_model_too_slow"
    is_retryable = False


class LanguageModelBusy(LanguageModelUnavailable):
    """Other calls of this process take all the slots; safe to retry."""


class LanguageModelRefused(Unprocessable, LanguageModelError):
    """The language model refused this text; a retry will not help."""

    code = "language_model_refused"


class InvalidCompletion(LanguageModelError):
    """The language model's response does not match the schema, or was truncated."""

    code = "invalid_completion"
    is_truncated = False  # more room, or a shorter response, may help
