"""Find words that ask for a filter which no rule can read: "but newer", "before that", "not about
BERT". A comparison with a document that the question names is read, if that document has a year."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from retrieval.questions.clauses import DOCUMENT_WORDS_PATTERN, Clause
from retrieval.words import MASK_CHAR, PARSED_CHAR, Span

NO_YEAR: Final = "it gives no year"
NO_EXCLUSION: Final = "a search cannot leave out a topic"

_CLAUSE_END: Final = (
    rf"(?=\s*(?:$|[.,;?!){MASK_CHAR}{PARSED_CHAR}]"
    r"|\b(?:and|or|but|by|at|not|from|in|on|about|please)\b))"
)
_THAT: Final = r"(?:that|this|it|these|those|them)(?:\s+(?:one|paper|year|date))?"
_BOUND_BY_WORD: Final = {
    "newer": "gt",
    "later": "gt",
    "more recent": "gt",
    "after": "gt",
    "since": "gte",
    "older": "lt",
    "earlier": "lt",
    "before": "lt",
    "prior to": "lt",
    "until": "lte",
}
_COMPARATIVE: Final = r"(?P<how>newer|later|more\s+recent|older|earlier)"
_ONES: Final = rf"(?:ones?|{DOCUMENT_WORDS_PATTERN})"
_COMPARISONS: Final = [
    re.compile(pattern + _CLAUSE_END, re.IGNORECASE)
    for pattern in (
        rf"\b(?:but|only|just|and|or)\s+(?:(?:only|just|much|that\s+(?:is|are))\s+){{0,3}}{_COMPARATIVE}(?:\s+{_ONES})?"
        rf"(?:\s+than\s+{_THAT})?",
        rf"(?:(?:and|or|but)\s+)?\b{_COMPARATIVE}(?:\s+{_ONES})?\s+than\s+{_THAT}",
        rf"\b{_COMPARATIVE}\s+{_ONES}",
        rf"(?:\b(?:and|or|but|only|just)\s+){{0,3}}\b(?P<how>before|after|since|until|prior\s+to)\s+(?:{_THAT}|then)",
    )
]
_VAGUE_TIMES: Final = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:(?:the|most)\s+){{0,3}}(?:recent|latest|newest|oldest)\s+{DOCUMENT_WORDS_PATTERN}\b",
        rf"\b(?:recently|lately|nowadays){_CLAUSE_END}",
    )
]
_NAME: Final = r"(?:the\s+)?(?-i:[A-Z])[\w.&-]*"
_EXCLUSIONS: Final = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:but\s+)?not\s+(?:at|in|from|by|of)\s+{_NAME}",
        r"\b(?:but\s+)?not\s+(?:on|about)\s+(?:the\s+)?\w[\w-]*",
        rf"(?:(?<=,)\s*|\bbut\s+)not\s+{_NAME}",
        rf"\b(?:except(?:\s+for)?|excluding|other\s+than|apart\s+from|outside(?:\s+of)?"
        rf"|any(?:one|thing|body|where)\s+but|every(?:one|thing|body|where)\s+but)\s+"
        rf"(?:(?:at|in|from|by|of|on|about)\s+)?{_NAME}",
    )
]


class UnreadFilter(NamedTuple):
    span: Span
    why: str


class Comparison(NamedTuple):
    """``bound``: ``gt``, ``gte``, ``lt`` or ``lte``."""

    span: Span
    bound: str


def has_comparison(text: str) -> bool:
    return next(find_comparisons(text), None) is not None


def find_comparisons(text: str) -> Iterator[Comparison]:
    """Comparisons with something said before: "but newer", "older than that", "before then"."""
    for match in _find_first_matches(_COMPARISONS, text):
        bound = _BOUND_BY_WORD[" ".join(match["how"].lower().split())]
        yield Comparison(match.span(), bound)


def find_unread_filters(text: str) -> Iterator[UnreadFilter]:
    """Vague times and exclusions in the unparsed parts of a question."""
    for match in _find_first_matches(_VAGUE_TIMES, text):
        yield UnreadFilter(match.span(), NO_YEAR)
    for match in _find_first_matches(_EXCLUSIONS, text):
        yield UnreadFilter(match.span(), NO_EXCLUSION)


def make_comparison_clause(comparison: Comparison, year_field: str, year: int) -> Clause:
    return Clause(*comparison.span, {year_field: {comparison.bound: year}})


def _find_first_matches(patterns: list[re.Pattern[str]], text: str) -> Iterator[re.Match[str]]:
    """Matches that do not overlap; earlier patterns first."""
    spans: list[Span] = []
    for pattern in patterns:
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(start < other_end and other < end for other, other_end in spans):
                spans.append((start, end))
                yield match
