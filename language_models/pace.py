"""How fast a model reads and writes, as its calls show."""

import threading
import time
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from language_models.exceptions import LanguageModelTooSlow

MIN_SILENCE_SECONDS: Final = 60.0  # before the first piece, also of a model measured as fast
CALLS_BEFORE: Final = 4  # whose longest answers a server may have to write first
VALID_SECONDS: Final = 300.0  # of a measurement; the model may be faster or slower since
# Below this, parallel calls only slow each other down, and users wait behind all of them.
SLOW_TOKENS_PER_SECOND: Final = 10.0
WEIGHT_OF_NEWEST: Final = 0.5  # of an exponential average


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second."""

    reading: float  # of the prompt, with the wait in the server's queue
    writing: float

    def estimate_seconds(self, prompt_tokens: int, completion_tokens: int) -> float:
        return prompt_tokens / self.reading + completion_tokens / self.writing


class Pace:
    """The measured speed of one model. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._speed: Speed | None = None
        self._measured_at = 0.0

    def get_speed(self) -> Speed | None:
        """None: it was not measured lately."""
        is_valid = time.monotonic() - self._measured_at < VALID_SECONDS
        return self._speed if is_valid else None

    def add(
        self, prompt_tokens: int, reading_seconds: float, tokens: int, writing_seconds: float
    ) -> None:
        """Measure a call by its tokens, and by its seconds before and after the first piece."""
        if not (prompt_tokens and tokens and reading_seconds > 0 and writing_seconds > 0):
            return
        new = Speed(prompt_tokens / reading_seconds, tokens / writing_seconds)
        with self._lock:
            if (old := self.get_speed()) is not None:
                new = Speed(
                    old.reading + WEIGHT_OF_NEWEST * (new.reading - old.reading),
                    old.writing + WEIGHT_OF_NEWEST * (new.writing - old.writing),
                )
            self._speed, self._measured_at = new, time.monotonic()

    def is_slow(self) -> bool:
        speed = self.get_speed()
        return speed is not None and speed.writing < SLOW_TOKENS_PER_SECOND

    def check_patience(
        self, prompt_tokens: int, completion_tokens: int, patience_seconds: float
    ) -> None:
        """Check that the model can write an answer while somebody waits for it. Raises
        ``LanguageModelTooSlow``: at the measured speed, so many tokens take longer."""
        speed = self.get_speed()
        if speed and speed.estimate_seconds(prompt_tokens, completion_tokens) > patience_seconds:
            raise LanguageModelTooSlow(
                f"The language model writes {speed.writing:.1f} tokens per second, too few to "
                f"answer within {patience_seconds:g} s.",
                fix="Use a faster model.",
            )

    def would_exceed_limit(self, completion_tokens: int) -> bool:
        """Whether so many tokens take longer than a call may, at the measured speed."""
        speed = self.get_speed()
        limit: float = settings.STRATA_LLM_TIMEOUT_SECONDS
        return speed is not None and completion_tokens / speed.writing > limit

    def find_silence_limit(self, prompt_tokens: int, max_tokens: int) -> float:
        """Seconds to wait for the first piece of a response: a server that answers one call at a
        time first answers those before."""
        limit: float = settings.STRATA_LLM_TIMEOUT_SECONDS
        if (speed := self.get_speed()) is None:
            return limit
        needed = CALLS_BEFORE * speed.estimate_seconds(prompt_tokens, max_tokens)
        return min(limit, max(MIN_SILENCE_SECONDS, needed))
