"""Find filters for marks: "best paper award", "award-winning", "outstanding papers"."""

import re
from typing import Final

from retrieval.questions.clauses import Clause, unwrap_single
from retrieval.questions.english.names import NameProblem, UnknownName
from retrieval.questions.values import MarkLookup
from retrieval.words import fold_words

MAX_MARKS: Final = 60  # marks in a filter that matches any of them

_NEGATION: Final = r"(?P<no>\b(?:but\s+)?(?:not|no|without|excluding|except)\s+(?:an?\s+|any\s+)?)?"
_PRIZE: Final = r"(?:awards?|prizes?|medals?)"
_WON: Final = (
    r"(?:\b(?:(?:that|which|who)\s+)?(?:(?:has|have|had)\s+)?(?:with|won|win|wins|winning|received"
    r"|receiving|earned|got|given|having)\s+(?:(?:an?|the|any|some)\s+)?)"
)
_OPTIONAL_WON: Final = rf"{_WON}?"
_KIND: Final = (
    r"(?P<kind>(?:best|outstanding|distinguished|test[\s-]of[\s-]time|honou?rable\s+mention)"
    r"(?:\s+(?!papers?\b)\w+){0,2}?)"
)

# Awards in general.
_ANY_AWARD: Final = re.compile(
    rf"{_NEGATION}(?:{_OPTIONAL_WON}\b{_PRIZE}[\s-]+(?:winning|winners?)\b"
    rf"|(?:{_WON}|(?P<lack>\bwithout\s+(?:(?:an?|any)\s+)?)){_PRIZE}\b)",
    re.IGNORECASE,
)
# Named awards. "The best paper on a topic" is an opinion; "best paper award" and "best paper at
# ACL" name an award.
_NAMED_AWARDS: Final = [
    re.compile(
        rf"{_NEGATION}{_OPTIONAL_WON}\b{_KIND}(?:\s+(?P<what>papers?|thesis|demos?))?"
        rf"\s+(?:{_PRIZE}\b(?:[\s-]+(?:winning|winners?)\b)?|winners?\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_NEGATION}\b(?P<kind>best)\s+(?P<what>papers?)(?=\s+(?:at|of|from)\s+(?-i:[A-Z]))",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_NEGATION}\b(?P<kind>outstanding|distinguished|test[\s-]of[\s-]time)\s+(?P<what>papers?)\b",
        re.IGNORECASE,
    ),
]


def find_mark_clauses(
    text: str, field: str, marks: MarkLookup
) -> tuple[list[Clause], list[NameProblem]]:
    """Clauses that ask for a mark, and a problem for each mark that no document has."""
    clauses: list[Clause] = []
    problems: list[NameProblem] = []
    used_spans: list[tuple[int, int]] = []
    for pattern in (*_NAMED_AWARDS, _ANY_AWARD):
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < after and first < end for first, after in used_spans):
                continue
            used_spans.append((start, end))
            values = _find_values(match, marks)
            if values:
                excluded = bool(match["no"] or match.groupdict().get("lack"))
                clauses.append(Clause(start, end, {field: unwrap_single(values)}, excluded))
            else:
                problems.append(UnknownName(start, end, match[0].strip()))
    return clauses, problems


def _find_values(match: re.Match[str], marks: MarkLookup) -> list[str]:
    groups = match.groupdict()
    if "kind" not in groups:
        return marks.values[:MAX_MARKS]
    return marks.find(fold_words(f"{groups['kind']} {groups['what'] or ''}"))[:MAX_MARKS]
