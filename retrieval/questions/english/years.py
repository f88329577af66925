"""Years and spans of years: "since 2019", "2015–2018", "the 1990s", "in the last 3 years".

A number is taken for a year where the words around it say so; "the 2000 most frequent words",
"SemEval-2017" and "P19-1001" hold none.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from retrieval.questions.clauses import DOCUMENTS, Clause, one_or_many
from retrieval.questions.words import TAKEN, Word, is_title, mask, split_words, word_set
from summaries.extractive.languages import LANGUAGES, stop_words

Bounds = dict[str, int] | int | list[int]

_YEAR: Final = r"(?<![\w.,/#$€£-])(?:1[5-9]|20)\d\d"
_WHOLE: Final = r"(?!\w|%|[.,]\d|\.\w|-\w)"  # what may not follow
_MONTH: Final = (
    r"(?P<month>(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?\s+(?:\d{1,2},?\s+)?)"
)
_NOT: Final = (
    r"(?P<no>\b(?:but\s+)?(?:not|except(?:\s+for)?|excluding|without|other\s+than)\s+"
    rf"(?:(?:those|any|ones|{DOCUMENTS})\s+)?)?"
)
_LEAD: Final = (
    r"(?:\b(?:(?:that|which)\s+)?(?:(?:was|were|have\s+been|has\s+been|are)\s+)?"
    r"(?:published|written|presented|released|appeared|appearing|dated|printed)\s+)?"
)
_THE: Final = r"(?:the\s+)?(?:years?\s+)?"
_LISTED: Final = (
    rf"{_YEAR}{_WHOLE}(?:(?:\s*,\s*|\s*/\s*|\s+&\s+|,?\s+and\s+|,?\s+or\s+){_YEAR}{_WHOLE})*"
)
_TO: Final = r"(?:\s*[-–—]\s*|\s+(?:to|until|till|through|thru)\s+)"
_NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ],
        start=1,
    )
}
_COUNT: Final = rf"(?:\d{{1,2}}|{'|'.join(_NUMBERS)})"

# What is counted, not dated, in "the 2000 most frequent words" and "after 2000 steps".
_COUNTED: Final = word_set(
    "most more least best top different unique word token sentence example document million "
    "billion thousand hundred dimensional hour hz random"
)
_BEFORE_NUMBERS: Final = word_set(
    "top first last next about over under only least most than version task step page "
    "vocabulary size of number and or to is seit ab"
)
_BOUNDING: Final = word_set(
    "since before after until till last past later earlier newer older onwards"
)
_DATING: Final = _BOUNDING | {"between", "from", "published", "years"}
_NOT_PLURALS: Final = word_set(
    "as is was has this across versus papers articles publications works studies plus perhaps "
    "always towards besides"
)


class Read(NamedTuple):
    bounds: Bounds
    month: str = ""  # said besides, and more than a year can honour


class Year(NamedTuple):
    clause: Clause
    month: str


def find_years(text: str, field: str, today: date, names: Collection[str] = ()) -> list[Year]:
    """Every clause about years in ``text``, whose masked parts are left alone.

    ``names``: folded words after which a number at the end of a question belongs to a name.
    """
    found: list[Year] = []
    is_titled = is_title(split_words(text))
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(text):
            if _counts_something(text, match) or (is_titled and not _is_dated(match)):
                continue
            if pattern is _LAST and _belongs_to_name(text, match, names):
                continue
            bounds, month = read(match, today)
            excluded = bool(match.groupdict().get("no"))
            clause = Clause(*match.span(), {field: bounds}, excluded)
            found.append(Year(clause, month.strip()))
            text = mask(text, [match.span()], TAKEN)
    return _join_alternatives(text, sorted(found, key=lambda year: year.clause.start))


def _join_alternatives(text: str, years: Sequence[Year]) -> list[Year]:
    """Of "before 2010 or after 2020", which no year can be both, one clause for either."""
    joined: list[Year] = []
    for year in years:
        before = joined[-1] if joined else None
        between = "" if before is None else text[before.clause.end : year.clause.start]
        if before is None or between.strip().lower() != "or":
            joined.append(year)
            continue
        either = {"any_of": [before.clause.condition, year.clause.condition]}
        clause = Clause(before.clause.start, year.clause.end, either)
        joined[-1] = Year(clause, before.month or year.month)
    return joined


# --- What dates, what counts and what names ------------------------------------------------


def _is_dated(match: re.Match[str]) -> bool:
    """Whether it bounds the time of what is sought, and not of what a title is about."""
    return any(word.folded in _BOUNDING for word in split_words(match[0]))


def _counts_something(text: str, match: re.Match[str]) -> bool:
    if not match[0][-1].isdigit() or match.groupdict().get("firm"):
        return False
    following = split_words(text[match.end() : match.end() + 40])
    if not following or text[match.end() : match.end() + following[0].start].strip():
        return False
    word = following[0].text
    if word.casefold() in _COUNTED:
        return True
    is_plural = word.islower() and len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return is_plural and word not in _NOT_PLURALS


def _belongs_to_name(text: str, match: re.Match[str], names: Collection[str]) -> bool:
    """Whether the word before a number at the end of a question makes it a part of a name or
    count; or a word of another language, whose meaning nothing here knows."""
    words = split_words(text[: match.start()])
    if not words:
        return True
    before: Word = words[-1]
    if text[before.end : match.start()].strip() or not before.text.islower():
        return True
    if before.folded in names or before.folded in _BEFORE_NUMBERS:
        return True
    return any(before.text in stop_words(language) for language in LANGUAGES)


# --- Patterns --------------------------------------------------------------------------------


def _years(match: re.Match[str], group: str) -> list[int]:
    return [int(year) for year in re.findall(r"\d{4}", match[group])]


def _between(match: re.Match[str], today: date) -> Read:
    first, last = match["first"], match["last"]
    if len(last) == 2:
        last = first[:2] + last
    low, high = sorted((int(first), int(last)))
    return Read({"gte": low, "lte": high}, match["month"] or "")


def _decade(match: re.Match[str], today: date) -> Read:
    digits = match["decade"].strip("'’")
    if len(digits) == 2:
        digits = ("19" if digits >= "50" else "20") + digits
    first = int(digits)
    low, high = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}.get(
        (match["part"] or "").lower(), (0, 9)
    )
    cue = " ".join((match["cue"] or "").lower().split())
    if cue == "since":
        return Read({"gte": first + low})
    if cue == "after":
        return Read({"gt": first + high})
    if cue in {"before", "prior to"}:
        return Read({"lt": first + low})
    if cue in {"until", "till", "up to"}:
        return Read({"lte": first + high})
    return Read({"gte": first + low, "lte": first + high})


def _lately(match: re.Match[str], today: date) -> Read:
    """From the first of the years it reaches into, so that nothing of the time is left out."""
    if match["this"]:
        return Read(today.year)
    if match["unit"]:
        count, unit = 1, match["unit"].lower()
        if unit == "year" and match["which"].lower() != "past" and not match["since"]:
            return Read(today.year - 1)
    else:
        said, unit = match["count"].lower(), match["units"].lower()
        count = int(said) if said.isdigit() else _NUMBERS[said]
    years = {"y": count, "d": 10 * count, "m": -(-count // 12)}[unit[0]]
    return Read({"gte": today.year - years})


def _bound(name: str) -> Callable[[re.Match[str], date], Read]:
    def read(match: re.Match[str], today: date) -> Read:
        groups = match.groupdict()
        [year] = _years(match, "year")
        return Read({name: year}, groups.get("month") or "")

    return read


def _beyond(name: str) -> Callable[[re.Match[str], date], Read]:
    """A month of the year itself lies within: "after May 2019" is in part of 2019."""

    def read(match: re.Match[str], today: date) -> Read:
        [year] = _years(match, "year")
        month = match["month"] or ""
        return Read({f"{name}e" if month else name: year}, month)

    return read


def _equal(match: re.Match[str], today: date) -> Read:
    years = _years(match, "year")
    return Read(one_or_many(list(dict.fromkeys(years))), match.groupdict().get("month") or "")


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ONE: Final = rf"{_THE}{_MONTH}?(?P<year>{_YEAR}{_WHOLE})"
_LAST: Final = _compile(rf"(?P<year>{_YEAR})(?=\s*[?.!]?\s*$)")

# Tried in turn; what one has read, the next ones do not see.
_PATTERNS: Final[list[tuple[re.Pattern[str], Callable[[re.Match[str], date], Read]]]] = [
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:in|from|since|during|for|within|over)\s+)?{_THE}{_MONTH}?"
            rf"(?<!\()(?P<first>{_YEAR}){_TO}(?:\w+\s+)??(?P<last>(?:1[5-9]|20)\d\d{_WHOLE})"
        ),
        _between,
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}\bbetween\s+{_THE}{_MONTH}?(?P<first>{_YEAR})\s+and\s+(?:\w+\s+)??"
            rf"(?P<last>(?:1[5-9]|20)\d\d{_WHOLE})"
        ),
        _between,
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:in|from|during)\s+)?{_THE}(?P<month>)(?P<first>{_YEAR})"
            rf"\s*[-–—/]\s*(?P<last>\d\d{_WHOLE})"
        ),
        _between,
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?P<cue>since|before|after|until|till|in|from|during|of|prior\s+to"
            r"|up\s+to)\s+)?(?:the\s+)?(?:(?P<part>early|mid|late)[\s-]+)?"
            r"(?P<decade>(?<![\w.])(?:1[5-9]|20)\d0|(?<=the\s)['’]?\d0|(?<![\w])['’]\d0)['’]?s\b"
        ),
        _decade,
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:in|from|of|over|within|during|(?P<since>since))\s+)?"
            rf"(?:(?:the\s+)?\b(?P<which>last|past|previous)\s+(?:(?P<count>{_COUNT})\s+"
            r"(?P<units>years?|decades?|months?)|(?P<unit>year|decade|month))\b"
            r"|\b(?P<this>this\s+year)\b)(?:['’]s?\b)?"
        ),
        _lately,
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:from|starting(?:\s+(?:in|from))?|in)\s+)?{_ONE}\s+(?:onwards?\b"
            r"|(?:and|or)\s+(?:later|after|newer|onwards?|beyond)\b(?!\s+\d)|on(?=\s*(?:$|[.,;?!])|\s+(?:by|at)\b))"
        ),
        _bound("gte"),
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:from|in)\s+)?{_ONE}\s+(?:and|or)\s+(?:earlier|before|older)\b(?!\s+\d)"
        ),
        _bound("lte"),
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?P<firm>since)\s+|\b(?:starting|beginning)\s+(?:in|from|with)\s+"
            rf"|\b(?:no|not)\s+earlier\s+than\s+|(?:>=|≥)\s*){_ONE}"
        ),
        _bound("gte"),
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:no|not)\s+later\s+than\s+|\b(?:until|till|through|up\s+(?:to|until)"
            rf"|by(?:\s+the\s+end\s+of)?)\s+|(?:<=|≤)\s*){_ONE}"
        ),
        _bound("lte"),
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:after|(?:later|newer|more\s+recent)\s+than)\s+|\bpost[\s-]|>\s*)"
            rf"{_THE}{_MONTH}?(?P<year>(?:(?<=post-)\d{{4}}|{_YEAR}){_WHOLE})"
        ),
        _beyond("gt"),
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}(?:\b(?:before|prior\s+to|(?:earlier|older)\s+than)\s+|\bpre[\s-]|<\s*)"
            rf"{_THE}{_MONTH}?(?P<year>(?:(?<=pre-)\d{{4}}|{_YEAR}){_WHOLE})"
        ),
        _beyond("lt"),
    ),
    (
        _compile(
            rf"{_NOT}{_LEAD}\b(?:in|from|of|during|dated|year|years|published|appeared)\s*[:=]?\s*"
            rf"{_THE}{_MONTH}?(?P<year>{_LISTED})"
        ),
        _equal,
    ),
    (
        _compile(
            r"(?P<no>\b(?:but\s+not|except(?:\s+for)?|excluding|other\s+than|not)\s+)"
            rf"(?:those\s+)?{_THE}(?P<year>{_LISTED})"
        ),
        _equal,
    ),
    (_compile(rf"(?P<year>{_LISTED})(?=\s+{DOCUMENTS}\b)"), _equal),
    (_compile(rf"(?P<year>{_YEAR}{_WHOLE})(?=\s+{TAKEN})"), _equal),
    (_compile(rf"(?<=papers\s)(?P<year>{_LISTED})"), _equal),
    (_LAST, _equal),
]


def says_years(text: str, today: date) -> Iterator[str]:
    """What in a question can only be meant of years, for an index that has none."""
    for year in find_years(text, "", today):
        said = text[year.clause.start : year.clause.end]
        if any(word.folded in _DATING for word in split_words(said)):
            yield said
