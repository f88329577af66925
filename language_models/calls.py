"""One call of a language model: how long it may take, and what has come of it."""

import time
from typing import Any, Final

from django.conf import settings

from language_models.call_counts import estimate_tokens
from language_models.exceptions import (
    LanguageModelError,
    LanguageModelSilent,
    LanguageModelTooSlow,
    LanguageModelUnavailable,
)

GAP_SECONDS: Final = 60.0  # between two pieces of a response; a longer gap is an outage
SLOW_FIX: Final = (
    "Set STRATA_LLM_TIMEOUT_SECONDS to more than {seconds:g}, or STRATA_LLM_CONCURRENCY to 1 if "
    "the server answers one call at a time, or use a smaller model."
)
SILENT_FIX: Final = "See whether the model's server is running, and has too many calls to answer."


def _round(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 1 else f"{seconds:.1g}"


def estimate_prompt_tokens(messages: list[tuple[str, str]]) -> int:
    return estimate_tokens(sum(len(content) for _, content in messages))


class CallClock:
    """Times one call: how long its next piece may take, and which error it is if none comes."""

    def __init__(self, silence_seconds: float, total_seconds: float) -> None:
        self._silence_seconds = min(silence_seconds, total_seconds)
        self._total_seconds = total_seconds
        self._started_at = self._last_at = time.monotonic()
        self._first_at: float | None = None

    @property
    def has_begun(self) -> bool:
        return self._first_at is not None

    @property
    def reading_seconds(self) -> float:
        return (self._first_at or time.monotonic()) - self._started_at

    @property
    def writing_seconds(self) -> float:
        return 0.0 if self._first_at is None else self._last_at - self._first_at

    def note_piece(self) -> None:
        self._last_at = time.monotonic()
        self._first_at = self._first_at or self._last_at

    def remaining_seconds(self) -> float:
        """How long to wait for the next piece."""
        elapsed = time.monotonic() - self._started_at
        if not self.has_begun:
            return self._silence_seconds - elapsed
        return min(self._total_seconds - elapsed, GAP_SECONDS)

    def make_error(self) -> LanguageModelError:
        if not self.has_begun:
            return LanguageModelSilent(
                f"The language model wrote nothing within {_round(self._silence_seconds)} s.",
                fix=self._silence_fix(),
            )
        if time.monotonic() - self._started_at < self._total_seconds:
            return LanguageModelUnavailable(
                f"The language model stopped writing for {GAP_SECONDS:g} s."
            )
        return LanguageModelTooSlow(
            f"The language model did not finish within {_round(self._total_seconds)} s.",
            fix=SLOW_FIX.format(seconds=settings.STRATA_LLM_TIMEOUT_SECONDS),
        )

    def _silence_fix(self) -> str:
        limit: float = settings.STRATA_LLM_TIMEOUT_SECONDS
        return SILENT_FIX if self._silence_seconds < limit else SLOW_FIX.format(seconds=limit)


class Call:
    """One call: what is asked, how long it may take, and what has come of it."""

    def __init__(
        self,
        messages: list[tuple[str, str]],
        max_tokens: int,
        clock: CallClock,
        options: dict[str, Any],
    ) -> None:
        self.messages = messages
        self.max_tokens = max_tokens
        self.clock = clock
        self.options = options
        self.finish_reason: str | None = None
        self.is_refused = False
        # Estimates, until the endpoint says how many there are.
        self.prompt_tokens = estimate_prompt_tokens(messages)
        self.completion_tokens = 0

    def note_chunk(self, chunk: Any) -> str:
        """Return the text that the chunk adds."""
        if (usage := chunk.raw.usage) is not None:
            self.prompt_tokens = usage.prompt_tokens or 0
            self.completion_tokens = usage.completion_tokens or 0
        for choice in chunk.raw.choices[:1]:
            self.finish_reason = choice.finish_reason or self.finish_reason
            self.is_refused |= bool(getattr(choice.delta, "refusal", None))
        delta: str = chunk.delta or ""
        # Some servers send an empty piece before they read the prompt.
        if delta or chunk.additional_kwargs.get("thinking_delta") or self.finish_reason:
            self.clock.note_piece()
        self.completion_tokens += estimate_tokens(len(delta))
        return delta
