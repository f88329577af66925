"""Find filters for years: "since 2019", "2015–2018", "the 1990s", "in the last 3 years".

A number counts as a year only if the words around it show that: "the 2000 most frequent words",
"SemEval-2017" and "P19-1001" contain no year.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from retrieval.questions.clauses import DOCUMENT_WORDS_PATTERN, Clause, unwrap_single
from retrieval.questions.words import (
    PARSED_CHAR,
    Word,
    is_title_case,
    mask_spans,
    split_word_set,
    split_words,
)
from summaries.extractive.languages import STOP_WORD_LANGUAGES, load_stop_words

YearValue = dict[str, int] | int | list[int]

_YEAR: Final = r"(?<![\w.,/#$€£-])(?:1[5-9]|20)\d\d"
_NUMBER_END: Final = r"(?!\w|%|[.,]\d|\.\w|-\w)"  # must not follow a year
_MONTH: Final = (
    r"(?P<month>(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?\s+(?:\d{1,2},?\s+)?)"
)
_NEGATION: Final = (
    r"(?P<no>\b(?:but\s+)?(?:not|except(?:\s+for)?|excluding|without|other\s+than|apart(?=\s+from))\s+"
    rf"(?:(?:those|any|ones|{DOCUMENT_WORDS_PATTERN})\s+)?)?"
)
_OPTIONAL_PUBLISHED: Final = (
    r"(?:\b(?:(?:that|which)\s+)?(?:(?:was|were|have\s+been|has\s+been|are)\s+)?"
    r"(?:published|written|presented|released|appeared|appearing|dated|printed)\s+)?"
)
_THE: Final = r"(?:the\s+)?(?:years?\s+)?"
_YEAR_LIST: Final = (
    rf"{_YEAR}{_NUMBER_END}"
    rf"(?:(?:\s*,\s*|\s*/\s*|\s+&\s+|,?\s+and\s+|,?\s+or\s+){_YEAR}{_NUMBER_END})*"
)
_TO: Final = r"(?:\s*[-–—]\s*|\s+(?:to|until|till|through|thru)\s+)"
_NUMBER_WORDS: Final = {
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
_COUNT: Final = rf"(?:\d{{1,2}}|{'|'.join(_NUMBER_WORDS)})"

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
_DATE_WORDS: Final = _RANGE_WORDS | {"between", "from", "published", "years"}
_NOT_PLURALS: Final = split_word_set(
    "as is was has this across versus papers articles publications works studies plus perhaps "
    "always towards besides"
)


class YearCondition(NamedTuple):
    bounds: YearValue
    month: str = ""  # a month in the question, which a filter on years cannot express


class YearClause(NamedTuple):
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
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(text):
            if _is_count(text, match) or (is_titled and not _has_range_word(match)):
                continue
            if pattern is _TRAILING_YEAR and _is_part_of_name(text, match, names):
                continue
            bounds, month = read(match, today)
            excluded = bool(match.groupdict().get("no"))
            clause = Clause(*match.span(), {field: bounds}, excluded)
            found.append(YearClause(clause, month.strip()))
            text = mask_spans(text, [match.span()], PARSED_CHAR)
    return _join_alternatives(text, sorted(found, key=lambda year: year.clause.start))


def _join_alternatives(text: str, years: Sequence[YearClause]) -> list[YearClause]:
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


# --- Telling years from counts and names ---------------------------------------------------


def _has_range_word(match: re.Match[str]) -> bool:
    """Whether the match has a range word such as "since", so that it is not part of a title."""
    return any(word.folded in _RANGE_WORDS for word in split_words(match[0]))


def _is_count(text: str, match: re.Match[str]) -> bool:
    if not match[0][-1].isdigit() or match.groupdict().get("firm"):
        return False
    following = split_words(text[match.end() : match.end() + 40])
    if not following or text[match.end() : match.end() + following[0].start].strip():
        return False
    word = following[0].text
    if word.casefold() in _COUNTED_NOUNS:
        return True
    is_plural = word.islower() and len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return is_plural and word not in _NOT_PLURALS


def _is_part_of_name(text: str, match: re.Match[str], names: Collection[str]) -> bool:
    """Whether the word before a final number makes it part of a name or count. So does a stop word
    of another language, because its meaning is unknown."""
    words = split_words(text[: match.start()])
    if not words:
        return True
    before: Word = words[-1]
    if text[before.end : match.start()].strip() or not before.text.islower():
        return True
    if before.folded in names or before.folded in _BEFORE_NUMBERS:
        return True
    return any(before.text in load_stop_words(language) for language in STOP_WORD_LANGUAGES)


# --- Patterns --------------------------------------------------------------------------------


def _parse_years(match: re.Match[str]) -> list[int]:
    return [int(year) for year in re.findall(r"\d{4}", match["year"])]


def _read_range(match: re.Match[str], today: date) -> YearCondition:
    first, last = match["first"], match["last"]
    if len(last) == 2:
        last = first[:2] + last
    low, high = sorted((int(first), int(last)))
    return YearCondition({"gte": low, "lte": high}, match["month"] or "")


def _read_decade(match: re.Match[str], today: date) -> YearCondition:
    digits = match["decade"].strip("'’")
    if len(digits) == 2:
        digits = ("19" if digits >= "50" else "20") + digits
    first = int(digits)
    low, high = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}.get(
        (match["part"] or "").lower(), (0, 9)
    )
    cue = " ".join((match["cue"] or "").lower().split())
    if cue == "since":
        return YearCondition({"gte": first + low})
    if cue == "after":
        return YearCondition({"gt": first + high})
    if cue in {"before", "prior to"}:
        return YearCondition({"lt": first + low})
    if cue in {"until", "till", "up to"}:
        return YearCondition({"lte": first + high})
    return YearCondition({"gte": first + low, "lte": first + high})


def _read_relative_time(match: re.Match[str], today: date) -> YearCondition:
    """Relative time ("last 3 years") as bounds that include the first year it touches."""
    if match["this"]:
        return YearCondition(today.year)
    if match["unit"]:
        count, unit = 1, match["unit"].lower()
        if unit == "year" and match["which"].lower() != "past" and not match["since"]:
            return YearCondition(today.year - 1)
    else:
        amount, unit = match["count"].lower(), match["units"].lower()
        count = int(amount) if amount.isdigit() else _NUMBER_WORDS[amount]
    years = {"y": count, "d": 10 * count, "m": -(-count // 12)}[unit[0]]
    return YearCondition({"gte": today.year - years})


def _make_bound_reader(name: str) -> Callable[[re.Match[str], date], YearCondition]:
    def read(match: re.Match[str], today: date) -> YearCondition:
        groups = match.groupdict()
        [year] = _parse_years(match)
        return YearCondition({name: year}, groups.get("month") or "")

    return read


def _make_strict_bound_reader(name: str) -> Callable[[re.Match[str], date], YearCondition]:
    """Make a reader for after/before; with a month the year is included ("after May 2019")."""

    def read(match: re.Match[str], today: date) -> YearCondition:
        [year] = _parse_years(match)
        month = match["month"] or ""
        return YearCondition({f"{name}e" if month else name: year}, month)

    return read


def _read_listed_years(match: re.Match[str], today: date) -> YearCondition:
    years = _parse_years(match)
    return YearCondition(
        unwrap_single(list(dict.fromkeys(years))), match.groupdict().get("month") or ""
    )


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SINGLE_YEAR: Final = rf"{_THE}{_MONTH}?(?P<year>{_YEAR}{_NUMBER_END})"
_TRAILING_YEAR: Final = _compile(rf"(?P<year>{_YEAR})(?=\s*[?.!]?\s*$)")

# Tried in order; text that one pattern has matched is masked for the next.
_PATTERNS: Final[list[tuple[re.Pattern[str], Callable[[re.Match[str], date], YearCondition]]]] = [
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:in|from|since|during|for|within|over)\s+)?{_THE}{_MONTH}?"
            rf"(?<!\()(?P<first>{_YEAR}){_TO}(?:\w+\s+)??(?P<last>(?:1[5-9]|20)\d\d{_NUMBER_END})"
        ),
        _read_range,
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}\bbetween\s+{_THE}{_MONTH}?(?P<first>{_YEAR})\s+and\s+(?:\w+\s+)??"
            rf"(?P<last>(?:1[5-9]|20)\d\d{_NUMBER_END})"
        ),
        _read_range,
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:in|from|during)\s+)?{_THE}(?P<month>)(?P<first>{_YEAR})"
            rf"\s*[-–—/]\s*(?P<last>\d\d{_NUMBER_END})"
        ),
        _read_range,
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?P<cue>since|before|after|until|till|in|from|during|of|prior\s+to"
            r"|up\s+to)\s+)?(?:the\s+)?(?:(?P<part>early|mid|late)[\s-]+)?"
            r"(?P<decade>(?<![\w.])(?:1[5-9]|20)\d0|(?<=the\s)['’]?\d0|(?<![\w])['’]\d0)['’]?s\b"
        ),
        _read_decade,
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:in|from|of|over|within|during|(?P<since>since))\s+)?"
            rf"(?:(?:the\s+)?\b(?P<which>last|past|previous)\s+(?:(?P<count>{_COUNT})\s+"
            r"(?P<units>years?|decades?|months?)|(?P<unit>year|decade|month))\b"
            r"|\b(?P<this>this\s+year)\b)(?:['’]s?\b)?"
        ),
        _read_relative_time,
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:from|starting(?:\s+(?:in|from))?|in)\s+)?{_SINGLE_YEAR}\s+(?:onwards?\b"
            r"|(?:and|or)\s+(?:later|after(?:\s+(?:that|then))?|since(?:\s+then)?|newer|onwards?|beyond)\b(?!\s+\d)|on(?=\s*(?:$|[.,;?!])|\s+(?:by|at)\b))"
        ),
        _make_bound_reader("gte"),
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:from|in)\s+)?{_SINGLE_YEAR}\s+(?:and|or)\s+(?:earlier|before(?:\s+(?:that|then))?|older)\b(?!\s+\d)"
        ),
        _make_bound_reader("lte"),
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?P<firm>since)\s+|\b(?:starting|beginning)\s+(?:in|from|with)\s+"
            rf"|\b(?:no|not)\s+earlier\s+than\s+|(?:>=|≥)\s*){_SINGLE_YEAR}"
        ),
        _make_bound_reader("gte"),
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:no|not)\s+later\s+than\s+|\b(?:until|till|through|up\s+(?:to|until)"
            rf"|by(?:\s+the\s+end\s+of)?)\s+|(?:<=|≤)\s*){_SINGLE_YEAR}"
        ),
        _make_bound_reader("lte"),
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:after|(?:later|newer|more\s+recent)\s+than)\s+|\bpost[\s-]|>\s*)"
            rf"{_THE}{_MONTH}?(?P<year>(?:(?<=post-)\d{{4}}|{_YEAR}){_NUMBER_END})"
        ),
        _make_strict_bound_reader("gt"),
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}(?:\b(?:before|prior\s+to|(?:earlier|older)\s+than)\s+|\bpre[\s-]|<\s*)"
            rf"{_THE}{_MONTH}?(?P<year>(?:(?<=pre-)\d{{4}}|{_YEAR}){_NUMBER_END})"
        ),
        _make_strict_bound_reader("lt"),
    ),
    (
        _compile(
            rf"{_NEGATION}{_OPTIONAL_PUBLISHED}\b(?:in|from|of|during|dated|year|years|published|appeared)\s*[:=]?\s*"
            rf"{_THE}{_MONTH}?(?P<year>{_YEAR_LIST})"
        ),
        _read_listed_years,
    ),
    (
        _compile(
            r"(?P<no>\b(?:but\s+not|except(?:\s+for)?|excluding|other\s+than|not)\s+)"
            rf"(?:those\s+)?{_THE}(?P<year>{_YEAR_LIST})"
        ),
        _read_listed_years,
    ),
    (_compile(rf"(?P<year>{_YEAR_LIST})(?=\s+{DOCUMENT_WORDS_PATTERN}\b)"), _read_listed_years),
    (_compile(rf"(?P<year>{_YEAR}{_NUMBER_END})(?=\s+{PARSED_CHAR})"), _read_listed_years),
    (_compile(rf"(?<=papers\s)(?P<year>{_YEAR_LIST})"), _read_listed_years),
    (_TRAILING_YEAR, _read_listed_years),
]


def find_year_phrases(text: str, today: date) -> Iterator[str]:
    """Find phrases that clearly mean years, for the note of an index without a year field."""
    for year in find_year_clauses(text, "", today):
        phrase = text[year.clause.start : year.clause.end]
        if any(word.folded in _DATE_WORDS for word in split_words(phrase)):
            yield phrase
