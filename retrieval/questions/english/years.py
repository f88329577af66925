"""Find filters for years: "since 2019", "2015–2018", "the 1990s", "in the last 3 years".

A number counts as a year only if the words around it show that: "the 2000 most frequent words",
"SemEval-2017" and "P19-1001" contain no year.
"""

import re
from collections.abc import Collection, Iterator
from datetime import date
from typing import Final, NamedTuple

from retrieval.questions.clauses import DOCUMENT_WORDS_PATTERN, Clause, unwrap_single
from retrieval.words import (
    PARSED_CHAR,
    is_title_case,
    mask_spans,
    split_word_set,
    split_words,
)
from summaries.extractive.languages import STOP_WORD_LANGUAGES, load_stop_words

_YEAR_DIGITS: Final = r"(?:1[5-9]|20)\d\d"
_YEAR: Final = rf"(?:(?<![\w.,/#$€£-])|(?<=\bpre-)|(?<=\bpost-)){_YEAR_DIGITS}"
_NUMBER_END: Final = r"(?!\w|%|[.,]\d|\.\w|-\w)"  # must not follow a year
_MONTH: Final = (
    r"(?P<month>(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?\s+"
    r"(?:\d{1,2},?\s+)?)?"
)
_COUNT_WORDS: Final = tuple(
    "one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
)
_COUNT: Final = rf"(?:\d{{1,2}}|{'|'.join(_COUNT_WORDS)})"

# The words before a time, by the bound that they set; "in" and "during" set both.
_INTRODUCTION: Final = (
    r"(?P<no>\b(?:but\s+)?(?:not(?!\s+(?:earlier|later)\s+than)|except(?:\s+for)?|excluding|without|other\s+than|apart(?=\s+from))\s+"
    rf"(?:(?:those|any|ones|{DOCUMENT_WORDS_PATTERN})\s+)?)?"
    r"(?:\b(?:(?:that|which)\s+)?(?:(?:was|were|have\s+been|has\s+been|are)\s+)?"
    r"(?P<published>published|written|presented|released|appeared|appearing|dated|printed)\s+)?"
    r"(?:(?:\b(?P<gte>since|(?:starting|beginning)(?:\s+(?:in|from|with))?|(?:no|not)\s+earlier\s+than)\b"
    r"|\b(?P<lte>until|till|through|up\s+(?:to|until)|by(?:\s+the\s+end\s+of)?|(?:no|not)\s+later\s+than)\b"
    r"|\b(?P<gt>after|(?:later|newer|more\s+recent)\s+than|post(?=[\s-]))"
    r"|\b(?P<lt>before|prior\s+to|(?:earlier|older)\s+than|pre(?=[\s-]))"
    r"|\b(?P<within>in|from|of|for|during|within|over|(?P<between>between))\b"
    r"|(?P<at_least>>=|≥)|(?P<at_most><=|≤)|(?P<more>>)|(?P<less><))[\s-]*)?"
    rf"(?:the\s+)?(?P<label>years?\s*[:=]?\s*)?{_MONTH}"
)
_LATER: Final = (
    r"(?P<later>\s+(?:onwards?\b|on(?=\s*(?:$|[.,;?!])|\s+(?:by|at)\b)|(?:and|or)\s+"
    r"(?:later|after(?:\s+(?:that|then))?|since(?:\s+then)?|newer|onwards?|beyond)\b(?!\s+\d)))"
)
_EARLIER: Final = (
    r"(?P<earlier>\s+(?:and|or)\s+(?:earlier|before(?:\s+(?:that|then))?|older)\b(?!\s+\d))"
)
_LIST: Final = (
    rf"{_YEAR}{_NUMBER_END}"
    rf"(?:(?:\s*,\s*|\s*/\s*|\s+&\s+|,?\s+and\s+|,?\s+or\s+){_YEAR}{_NUMBER_END})*"
)

# Tried in order; text that one pattern has matched is masked for the next.
_PATTERNS: Final = [
    re.compile(_INTRODUCTION + period, re.IGNORECASE)
    for period in (
        rf"(?<!\()(?P<first>{_YEAR})"
        r"(?(between)\s+and\s+|(?:\s*[-–—]\s*|\s+(?:to|until|till|through|thru)\s+))"
        rf"(?:[a-z]+\s+)?(?P<last>{_YEAR_DIGITS}{_NUMBER_END})",
        rf"(?P<first>{_YEAR})\s*[-–—/]\s*(?P<last>\d\d{_NUMBER_END})",
        r"(?:(?P<part>early|mid|late)[\s-]+)?"
        r"(?P<decade>(?<![\w.])(?:1[5-9]|20)\d0|(?<=the\s)['’]?\d0|(?<![\w])['’]\d0)['’]?s\b",
        rf"(?:\b(?P<which>last|past|previous)\s+(?:(?P<count>{_COUNT})\s+)?"
        r"(?P<unit>years?|decades?|months?)\b|\b(?P<this>this\s+year)\b)(?:['’]s?\b)?",
        rf"(?P<years>{_LIST})(?:{_LATER}|{_EARLIER}|(?P<noun>(?=\s+(?:{DOCUMENT_WORDS_PATTERN}\b|{PARSED_CHAR})))"
        r"|(?P<final>(?=\s*[?.!]?\s*$)))?",
    )
]

# A number before one of these words is a count: "the 2000 most frequent words".
_COUNTED_NOUNS: Final = split_word_set(
    "most more least best top different unique word token sentence example document million "
    "billion thousand hundred dimensional hour hz random"
)
_BEFORE_NUMBERS: Final = split_word_set(
    "top first last next about over under only least most than version task step page "
    "vocabulary size of number and or to is seit ab"
)
_RANGE_WORDS: Final = split_word_set(
    "since before after until till last past later earlier newer older onwards"
)
_BOUNDS: Final = ("gte", "lte", "gt", "lt", "at_least", "at_most", "more", "less")
_DATE_WORDS: Final = _RANGE_WORDS | {"between", "from", "published", "years"}
_NOT_PLURALS: Final = split_word_set(
    "as is was has this across versus papers articles publications works studies plus perhaps "
    "always towards besides"
)


class YearClause(NamedTuple):
    """``month``: a month in the words, which a filter on years cannot express."""

    clause: Clause
    month: str


def find_year_clauses(
    text: str, field: str, today: date, names: Collection[str] = ()
) -> list[YearClause]:
    """Clauses about years in the unmasked parts of ``text``.

    ``names``: folded words after which a number at the end of a question belongs to a name.
    """
    found: list[YearClause] = []
    is_titled = is_title_case(split_words(text))
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if not _means_years(match, text, names) or (is_titled and not _has_range_word(match)):
                continue
            clause = Clause(
                *match.span(), {field: _read_condition(match, today)}, bool(match["no"])
            )
            found.append(YearClause(clause, (match["month"] or "").strip()))
            text = mask_spans(text, [match.span()], PARSED_CHAR)
    return _join_alternatives(text, sorted(found, key=lambda year: year.clause.start))


def find_year_phrases(text: str, today: date) -> Iterator[str]:
    """Find phrases that clearly mean years, for the note of an index without a year field."""
    for year in find_year_clauses(text, "", today):
        phrase = text[year.clause.start : year.clause.end]
        if any(word.folded in _DATE_WORDS for word in split_words(phrase)):
            yield phrase


def _join_alternatives(text: str, years: list[YearClause]) -> list[YearClause]:
    """Join clauses around "or", such as "before 2010 or after 2020", into one ``any_of`` clause."""
    joined: list[YearClause] = []
    for year in years:
        before = joined[-1] if joined else None
        between = "" if before is None else text[before.clause.end : year.clause.start]
        if before is None or between.strip().lower() != "or":
            joined.append(year)
            continue
        either = {"any_of": [before.clause.condition, year.clause.condition]}
        clause = Clause(before.clause.start, year.clause.end, either)
        joined[-1] = YearClause(clause, before.month or year.month)
    return joined


# --- Reading a match -------------------------------------------------------------------------


def _read_condition(match: re.Match[str], today: date) -> dict[str, int] | int | list[int]:
    groups = match.groupdict()
    has_end = True  # "the last 3 years" has none
    listed: list[int] = []
    if groups.get("first"):
        first, last = match["first"], match["last"]
        low, high = sorted((int(first), int(first[: 4 - len(last)] + last)))
    elif groups.get("decade"):
        low, high = _read_decade(match["decade"], match["part"])
    elif groups.get("years"):
        listed = list(dict.fromkeys(int(year) for year in re.findall(r"\d{4}", match["years"])))
        low, high = min(listed), max(listed)
    else:
        low, high, has_end = _read_relative_time(match, today.year)
    is_monthly = bool(match["month"])  # "after May 2019" includes 2019
    if match["gt"] or match["more"]:
        return {"gte" if is_monthly else "gt": high}
    if match["lt"] or match["less"]:
        return {"lte" if is_monthly else "lt": low}
    if match["gte"] or match["at_least"] or groups.get("later") or not has_end:
        return {"gte": low}
    if match["lte"] or match["at_most"] or groups.get("earlier"):
        return {"lte": high}
    if listed:
        return unwrap_single(listed)
    return low if low == high else {"gte": low, "lte": high}


def _read_decade(digits: str, part: str | None) -> tuple[int, int]:
    digits = digits.strip("'’")
    if len(digits) == 2:
        digits = ("19" if digits >= "50" else "20") + digits
    low, high = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}.get((part or "").lower(), (0, 9))
    return int(digits) + low, int(digits) + high


def _read_relative_time(match: re.Match[str], this_year: int) -> tuple[int, int, bool]:
    """The first and last year of "last 3 years", and whether it has an end."""
    if match["this"]:
        return this_year, this_year, True
    unit, amount = match["unit"].lower()[0], (match["count"] or "").lower()
    if unit == "y" and not amount and match["which"].lower() != "past":
        return this_year - 1, this_year - 1, True
    count = int(amount) if amount.isdigit() else _COUNT_WORDS.index(amount or "one") + 1
    years = {"y": count, "d": 10 * count, "m": -(-count // 12)}[unit]
    return this_year - years, this_year, False


# --- Telling years from counts and names ---------------------------------------------------


def _means_years(match: re.Match[str], text: str, names: Collection[str]) -> bool:
    if _is_count(match, text):
        return False
    groups = match.groupdict()
    if not groups.get("years"):
        return True
    if any(groups[name] for name in ("no", "published", "label", "later", "earlier", *_BOUNDS)):
        return True
    if (match["within"] or "").lower() in {"in", "from", "of", "during"}:
        return True
    if match["noun"] is not None or text[: match.start()].lower().endswith("papers "):
        return True
    if match["final"] is None or match["within"]:
        return False
    return not _is_part_of_name(match, text, names)


def _has_range_word(match: re.Match[str]) -> bool:
    """Whether the match has a range word such as "since", so that it is not part of a title."""
    return any(word.folded in _RANGE_WORDS for word in split_words(match[0]))


def _is_count(match: re.Match[str], text: str) -> bool:
    if not match[0][-1].isdigit() or (match["gte"] or "").lower() == "since":
        return False
    following = split_words(text[match.end() : match.end() + 40])
    if not following or text[match.end() : match.end() + following[0].start].strip():
        return False
    word = following[0].text
    if word.casefold() in _COUNTED_NOUNS:
        return True
    is_plural = word.islower() and len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return is_plural and word not in _NOT_PLURALS


def _is_part_of_name(match: re.Match[str], text: str, names: Collection[str]) -> bool:
    """Whether the word before a final number makes it part of a name or count. So does a stop word
    of another language, because its meaning is unknown."""
    words = split_words(text[: match.start()])
    if not words:
        return True
    before = words[-1]
    if text[before.end : match.start()].strip() or not before.text.islower():
        return True
    if before.folded in names or before.folded in _BEFORE_NUMBERS:
        return True
    return any(before.text in load_stop_words(language) for language in STOP_WORD_LANGUAGES)
