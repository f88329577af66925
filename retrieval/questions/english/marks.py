"""Distinctions: "best paper award", "award-winning", "outstanding papers"."""

import re
from typing import Final

from retrieval.questions.clauses import Clause, one_or_many
from retrieval.questions.english.people import Trouble, Unknown
from retrieval.questions.values import Marks
from retrieval.questions.words import fold_words

MOST_MARKS: Final = 60  # that a filter names, where any will do

_NOT: Final = r"(?P<no>\b(?:but\s+)?(?:not|no|without|excluding|except)\s+(?:an?\s+|any\s+)?)?"
_PRIZE: Final = r"(?:awards?|prizes?|medals?)"
_WON: Final = (
    r"(?:\b(?:(?:that|which|who)\s+)?(?:(?:has|have|had)\s+)?(?:with|won|win|wins|winning|received"
    r"|receiving|earned|got|given|having)\s+(?:(?:an?|the|any|some)\s+)?)"
)
_LEAD: Final = rf"{_WON}?"
_KIND: Final = (
    r"(?P<kind>(?:best|outstanding|distinguished|test[\s-]of[\s-]time|honou?rable\s+mention)"
    r"(?:\s+(?!papers?\b)\w+){0,2}?)"
)

# Any mark at all.
_ANY: Final = re.compile(
    rf"{_NOT}(?:{_LEAD}\b{_PRIZE}[\s-]+(?:winning|winners?)\b"
    rf"|(?:{_WON}|(?P<lack>\bwithout\s+(?:(?:an?|any)\s+)?)){_PRIZE}\b)",
    re.IGNORECASE,
)
# Named ones. The best paper on a topic is a matter of taste; with an award or of a conference,
# it is a fact.
_NAMED: Final = [
    re.compile(
        rf"{_NOT}{_LEAD}\b{_KIND}(?:\s+(?P<what>papers?|thesis|demos?))?"
        rf"\s+(?:{_PRIZE}\b(?:[\s-]+(?:winning|winners?)\b)?|winners?\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_NOT}\b(?P<kind>best)\s+(?P<what>papers?)(?=\s+(?:at|of|from)\s+(?-i:[A-Z]))",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_NOT}\b(?P<kind>outstanding|distinguished|test[\s-]of[\s-]time)\s+(?P<what>papers?)\b",
        re.IGNORECASE,
    ),
]


def find_marks(text: str, field: str, marks: Marks) -> tuple[list[Clause], list[Trouble]]:
    """Every clause that asks for a distinction, and those that no document here has."""
    clauses: list[Clause] = []
    troubles: list[Trouble] = []
    taken: list[tuple[int, int]] = []
    for pattern in (*_NAMED, _ANY):
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < after and first < end for first, after in taken):
                continue
            taken.append((start, end))
            values = _find_values(match, marks)
            if values:
                excluded = bool(match["no"] or match.groupdict().get("lack"))
                clauses.append(Clause(start, end, {field: one_or_many(values)}, excluded))
            else:
                troubles.append(Unknown(start, end, match[0].strip()))
    return clauses, troubles


def _find_values(match: re.Match[str], marks: Marks) -> list[str]:
    groups = match.groupdict()
    if "kind" not in groups:
        return marks.values[:MOST_MARKS]
    return marks.find(fold_words(f"{groups['kind']} {groups['what'] or ''}"))[:MOST_MARKS]
