"""Find filters for years: "since 2019", "2015–2018", "the 1990s", "in the last 3 years".

A number counts as a year only if the words around it show that: "the 2000 most frequent words",
"SemEval-2017" and "P19-1001" contain no year.
"""

import re
from datetime import date
from typing import Any, Final

from answers.questions.clauses import NEGATION_PATTERN, Clause, is_after_negation, unwrap_single
from text.words import PARSED_CHAR, is_title_case, mask_spans, split_words

_DIGITS: Final = r"(?:1[5-9]|20)\d\d"
_YEAR: Final = rf"(?<![\w.,/#$€£(-]){_DIGITS}"
# A number before one of these words is a count: "the 2000 most frequent words", "2000 sentences".
_COUNTED: Final = (
    r"(?-i:\s+(?:(?:most|more|best|different|unique|random|million|billion|word|token|sentence"
    r"|example)\b"
    r"|(?!(?:as|is|was|has|this|across|onwards|papers|articles|publications|works|studies)\b)"
    r"[a-z]{3,}(?<!s)s\b))"
)
_END: Final = rf"(?!\w|%|[.,]\d|\.\w|[-–]\w|{_COUNTED})"  # must not follow a year
_COUNTS: Final = tuple("one two three four five six seven eight nine ten".split())  # noqa: SIM905

# The words before a time, by the bound that they set; the last group sets both.
_INTRODUCTION: Final = (
    rf"{NEGATION_PATTERN}(?:\b(?:published|written)\s+)?"
    r"(?:\b(?:(?P<gte>since|(?:starting|beginning)\s+(?:in|from))|(?P<lte>until|up\s+to|by)"
    r"|(?P<gt>after)|(?P<lt>before)|(?P<within>in|from|during|of|over|within|(?P<between>between)))\s+)?(?:the\s+)?"
)
_LATER: Final = (
    r"(?P<later>\s+(?:onwards?\b|on(?=\s*(?:$|[.,;?!]))"
    r"|(?:and|or)\s+(?:later|after|since|newer|onwards?)\b(?!\s+\d)(?:\s+(?:that|then)\b)?))"
)
_EARLIER: Final = (
    r"(?P<earlier>\s+(?:and|or)\s+(?:earlier|before|older)\b(?!\s+\d)(?:\s+(?:that|then)\b)?)"
)
# Tried in order; text that one pattern has matched is masked for the next.
_PATTERNS: Final = [
    re.compile(_INTRODUCTION + period, re.IGNORECASE)
    for period in (
        rf"(?P<first>{_YEAR})"
        r"(?(between)\s+and\s+|(?:\s*[-–—]\s*|\s+(?:to|until|through)\s+))"
        rf"(?P<last>{_DIGITS}{_END})",
        rf"(?:(?P<part>early|mid|late)[\s-]+)?(?P<decade>(?<![\w.]){_DIGITS}(?<=0))['’]?s\b",
        rf"(?:(?P<which>last|past)\s+(?:(?P<count>\d{{1,2}}|{'|'.join(_COUNTS)})\s+)?"
        r"(?P<unit>year|decade)s?\b|\b(?P<this>this\s+year)\b)(?:['’]s?\b)?",
        rf"(?P<years>{_YEAR}{_END}(?:(?:\s*[,/]\s*|,?\s+(?:and|or)\s+){_YEAR}{_END})*)"
        rf"(?:{_LATER}|{_EARLIER}|(?P<papers>(?=\s+(?:papers|articles|publications)\b)))?",
    )
]
_PARTS: Final = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}  # of a decade
_BOUNDS: Final = ("gte", "lte", "gt", "lt", "later", "earlier")


def find_year_clauses(text: str, field: str, today: date) -> list[Clause]:
    """Clauses about years in the unmasked parts of ``text``."""
    clauses: list[Clause] = []
    is_titled = is_title_case(split_words(text))
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            is_bounded = any(groups.get(name) for name in _BOUNDS)
            if (is_titled and not is_bounded) or is_after_negation(text[: match.start()]):
                continue
            if not groups.get("years") or is_bounded or _means_years(groups):
                condition = {field: _read_condition(groups, today)}
                clauses.append(Clause(*match.span(), condition, bool(match["no"])))
                text = mask_spans(text, [match.span()], PARSED_CHAR)
    return _join_alternatives(text, sorted(clauses, key=lambda clause: clause.start))


def _means_years(groups: dict[str, str | None]) -> bool:
    """Whether the words around numbers without a bound show that they are years."""
    is_placed = (groups["within"] or "").lower() in {"in", "from", "during"}
    return bool(groups["no"]) or is_placed or groups["papers"] is not None


def _join_alternatives(text: str, clauses: list[Clause]) -> list[Clause]:
    """Join clauses around "or", such as "before 2010 or after 2020", into one clause."""
    joined: list[Clause] = []
    for clause in clauses:
        if joined and text[joined[-1].end : clause.start].strip().lower() == "or":
            either = {"any_of": [joined[-1].condition, clause.condition]}
            joined[-1] = Clause(joined[-1].start, clause.end, either)
        else:
            joined.append(clause)
    return joined


def _read_condition(groups: dict[str, Any], today: date) -> dict[str, int] | int | list[int]:
    has_end = True  # "the last 3 years" has none
    listed: list[int] = []
    if groups.get("first"):
        low, high = sorted((int(groups["first"]), int(groups["last"])))
    elif groups.get("decade"):
        first, last = _PARTS.get((groups["part"] or "").lower(), (0, 9))
        low, high = int(groups["decade"]) + first, int(groups["decade"]) + last
    elif groups.get("years"):
        listed = list(dict.fromkeys(int(year) for year in re.findall(r"\d{4}", groups["years"])))
        low, high = min(listed), max(listed)
    else:
        low, high, has_end = _read_relative_time(groups, today.year)
    if groups["gt"]:
        return {"gt": high}
    if groups["lt"]:
        return {"lt": low}
    if groups["gte"] or groups.get("later") or not has_end:
        return {"gte": low}
    if groups["lte"] or groups.get("earlier"):
        return {"lte": high}
    if listed:
        return unwrap_single(listed)
    return low if low == high else {"gte": low, "lte": high}


def _read_relative_time(groups: dict[str, Any], this_year: int) -> tuple[int, int, bool]:
    """The first and last year of "last 3 years", and whether it has an end."""
    if groups["this"]:
        return this_year, this_year, True
    amount = (groups["count"] or "").lower()
    if not amount and (groups["which"] + groups["unit"]).lower() == "lastyear":
        return this_year - 1, this_year - 1, True
    count = int(amount) if amount.isdigit() else _COUNTS.index(amount or "one") + 1
    years = count * (10 if groups["unit"].lower() == "decade" else 1)
    return this_year - years, this_year, False
