"""How documents are named in running text.

Some patterns take a time that doubles with each character of a text, so each text has a limit of
time, and the engine is one that keeps to it and lets other threads run.
"""

from functools import lru_cache
from typing import Final

import regex  # for the limit of time, which re lacks
from pydantic import ValidationInfo, field_validator

from indexing.spec.sections import STORED, FrozenModel

MAX_PATTERN_CHARS: Final = 1_000
SECONDS: Final = 0.2  # for all patterns on one question; sound ones take some microseconds
_TRIED_CHARS: Final = 60  # enough for what doubles with each, and little for what is quadratic


class IdentifierSpec(FrozenModel):
    pattern: str  # a regular expression that matches one whole name, in any case
    field: str = "external_id"  # the field that holds it

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str, info: ValidationInfo) -> str:
        if info.context == STORED:  # of an earlier release; finding names keeps to the limit
            return pattern
        if len(pattern) > MAX_PATTERN_CHARS:
            raise ValueError(f"the expression is longer than {MAX_PATTERN_CHARS:,} characters")
        try:
            expression = compile_whole_word(pattern)
            matches_nothing = regex.compile(pattern).fullmatch("", timeout=SECONDS)
            for char in dict.fromkeys([*"a0-. ", *filter(str.isalnum, pattern)]):
                # With the pattern after it, the text has what a match must end with.
                list(expression.finditer(f"{char * _TRIED_CHARS}! {pattern}", timeout=SECONDS))
        except (regex.error, RecursionError, OverflowError) as error:
            raise ValueError(f"the expression is not a valid regular expression: {error}") from None
        except TimeoutError:
            raise ValueError(
                "the expression takes too long on some texts; avoid repetitions of a part that "
                "repeats something itself, such as (a+)+"
            ) from None
        if matches_nothing:
            raise ValueError("the expression matches an empty string")
        return pattern


@lru_cache(maxsize=256)
def compile_whole_word(pattern: str) -> regex.Pattern[str]:
    return regex.compile(rf"(?<!\w)(?:{pattern})(?!\w)", regex.IGNORECASE)
