"""Recognise if a question asks for a time, a number or a name, and sentences that hold one."""

from typing import Final

import regex  # for Unicode properties, which re lacks

_ASKS_TIME: Final = regex.compile(
    r"\bwhen\b|\b(?:which|what)\s+(?:year|day|date|time|month|hour)\b|\bhow\s+often\b",
    regex.IGNORECASE,
)
_ASKS_NUMBER: Final = regex.compile(
    r"\bhow\s+(?:many|much|long|tall|high|deep|wide|far|fast|old|heavy|large|big)\b",
    regex.IGNORECASE,
)
_ASKS_NAME: Final = regex.compile(r"^\W*(?:who|whom|whose)\b", regex.IGNORECASE)

_TIME: Final = regex.compile(
    r"\b(?:1\d|20)\d\d\b|\d[.:]\d\d|\bo.clock\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|noon|midnight|morning|evening|night|when|after|before|until|since)\b",
    regex.IGNORECASE,
)
_NUMBER: Final = regex.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundred|thousand|million|once|twice|half)",
    regex.IGNORECASE,
)
# A capitalised word inside a sentence, or two at its beginning.
_NAME: Final = regex.compile(r"(?<=[\p{L},;:’'] )\p{Lu}\p{Ll}|^\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}")


def has_requested_kind_of_answer(question: str, sentence: str) -> bool:
    """Whether the question asks for a time, a number or a name, and the sentence holds one."""
    for asks, pattern in ((_ASKS_TIME, _TIME), (_ASKS_NUMBER, _NUMBER), (_ASKS_NAME, _NAME)):
        if asks.search(question):
            return pattern.search(sentence) is not None
    return False
