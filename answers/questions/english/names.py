"""Find filters for the people, venues and awards of an index: the words of a question, the longest
run first, are looked up among its values.

A value counts only where the words around it say that it is a filter; elsewhere it may be the
topic.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import regex  # for Unicode properties, which re lacks

from answers.questions.clauses import (
    DOCUMENT_WORDS_PATTERN,
    NEGATION_PATTERN,
    Clause,
    is_after_negation,
    unwrap_single,
)
from answers.questions.values import MarkLookup, NameLookup, PersonLookup
from text.languages import load_stop_words
from text.words import MASK_CHAR, PARSED_CHAR, Span, is_title_case, split_words

MAX_NAMESAKES: Final = 60  # people in one filter
MAX_NAME_WORDS: Final = 5
CONTEXT_CHARS: Final = 120  # looked at before a name

# What leads to a name: "not published by", "excluding papers from", "at the".
_LEAD: Final = re.compile(
    rf"(?:\b(?:that|which)\s+(?:did|do|were|was)\s+(?=not\b))?{NEGATION_PATTERN}"
    r"(?:\b(?:written|authored|published|presented|appear(?:ed|ing)?)\s+)?"
    r"(?:\b(?P<word>by|at|in|from)\s+(?:the\s+)?)?$",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(
    r"\s*(?:(?:,\s*)?\b(?P<word>and|or)\b|[,/])\s*(?:(?:by|at|in|the)\s+){0,2}", re.IGNORECASE
)
_GAP: Final = re.compile(r" |\.? ?[-‐‑'’&]? ?")  # between the words of one name
# "Papers by" is followed by a person, whether the index has that person or not.
_BY_PATTERN: Final = rf"\b(?:{DOCUMENT_WORDS_PATTERN}|written|authored)\s+(?:not\s+)?by\s+"
_AFTER_WORKS: Final = re.compile(rf"{_BY_PATTERN}$", re.IGNORECASE)
_OWNS: Final = re.compile(
    r"['’]s?(?=\s+(?:\w+\s+)?(?:papers?|articles|publications|work)\b)", re.IGNORECASE
)
_ET_AL: Final = re.compile(r"\s+et\s+al\b\.?", re.IGNORECASE)
_PAPERS: Final = re.compile(r"\s+(?:papers?|articles|publications)\b", re.IGNORECASE)
# A name before one of these words belongs to a topic: "the CoNLL 2003 shared task".
_TOPIC: Final = re.compile(
    r"\s+(?:tasks?|shared|datasets?|data|corpus|corpora|benchmarks?|test|systems?|news|anthology)\b",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"\s((?:19|20)\d\d)(?![\w–-])")
_UNKNOWN: Final = regex.compile(
    rf"{_BY_PATTERN}(?-i:(?P<person>\p{{Lu}}[\w'’.-]*+(?:\s+\p{{Lu}}[\w'’.-]*+)*+))(?!\s+\d)"
    r"|\bat\s+(?:the\s+)?(?-i:(?P<name>\p{Lu}[\w-]*\p{Lu}\w*))"
    r"(?=\s*(?:$|[.,;?!])|\s+(?:on|about|by|since|before)\b)",
    regex.IGNORECASE,
)
_PRIZE: Final = re.compile(
    r"\b(?:awards?|prizes?)(?P<winning>[\s-]winning\b)?\b|\bwinners?\b", re.IGNORECASE
)
_WON: Final = re.compile(
    rf"{NEGATION_PATTERN}(?:\b(?:(?:that|which)\s+)?(?:(?:has|have)\s+)?"
    r"(?P<won>won|with|received|winning)\s+)?(?:\b(?:an?|the|any)\s+)?$",
    re.IGNORECASE,
)


class _Name(NamedTuple):
    values: Sequence[str]
    start: int  # offsets in the text
    end: int
    year: int | None = None


class _Words:
    """The words of a question, and what stands between and around them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = split_words(text)
        self.folded = [word.folded for word in self.words]
        self.is_title_case = is_title_case(self.words)
        self._numbers = {word.start: number for number, word in enumerate(self.words)}

    def find_lists(
        self, look_up: Callable[[int, bool], _Name | None]
    ) -> Iterator[tuple[list[_Name], bool]]:
        """Names with those joined to them, and whether "or" joins them.

        ``look_up``: the name that begins at a word, and whether a joint is before it.
        """
        end = 0
        for number, word in enumerate(self.words):
            name = look_up(number, False) if word.start >= end else None
            names: list[_Name] = []
            is_either = False
            while name is not None:
                names.append(name)
                end = name.end
                joint = _JOINT.match(self.text, end)
                following = self._numbers.get(joint.end()) if joint else None
                name = None if following is None else look_up(following, True)
                is_either |= bool(name and joint and (joint["word"] or "").lower() == "or")
            if names:
                yield names, is_either

    def get_before(self, start: int) -> str:
        return self.text[max(0, start - CONTEXT_CHARS) : start]

    def find_lead(self, start: int, pattern: re.Pattern[str] = _LEAD) -> re.Match[str] | None:
        """What leads to a name; None after a negation that it does not contain."""
        lead = pattern.search(self.get_before(start))
        assert lead is not None  # it may be empty
        return None if is_after_negation(lead.string[: lead.start()]) else lead

    def is_one_name(self, first: int, after: int) -> bool:
        """Whether nothing but a space, hyphen or apostrophe is between these words, no ``'s``, and
        no full stop but after an initial."""
        for before, word in pairwise(self.words[first:after]):
            gap = self.text[before.end : word.start]
            is_sentence_end = "." in gap and len(before.text) > 2
            if not _GAP.fullmatch(gap) or is_sentence_end or (gap in "'’" and word.folded == "s"):
                return False
        return True

    def ends_phrase(self, after: int) -> bool:
        """Whether punctuation, a stop word or nothing is before this word."""
        if after >= len(self.words):
            return True
        before, word = self.words[after - 1 : after + 1]
        gap = self.text[before.end : word.start]
        return (
            (bool(gap.strip()) and gap[0] not in "-‐‑–")
            or (gap == " " and word.folded in load_stop_words("en"))
            or _ET_AL.match(self.text, before.end) is not None
        )


def find_person_clauses(
    text: str, field: str, people: PersonLookup
) -> tuple[list[Clause], list[Span]]:
    """Clauses that name authors, and the places of names that too many people share."""
    question = _Words(text)
    clauses: list[Clause] = []
    shared: list[Span] = []
    for names, is_either in question.find_lists(partial(_find_person, question, people)):
        start, end = names[0].start, names[-1].end
        lead = question.find_lead(start)
        if lead is None:
            continue
        if any(len(name.values) > MAX_NAMESAKES for name in names):
            shared.append((start, end))
            continue
        tail = _ET_AL.match(text, end) or _OWNS.match(text, end)
        span = (start - len(lead[0]), tail.end() if tail else end)
        if lead["no"] or is_either:  # "not by A and B": neither
            every = [value for name in names for value in name.values]
            clauses.append(Clause(*span, {field: unwrap_single(every)}, bool(lead["no"])))
        else:
            conditions = [{field: unwrap_single(name.values)} for name in names]
            joined = {"all_of": conditions} if len(conditions) > 1 else conditions[0]
            clauses.append(Clause(*span, joined))
    return clauses, shared


def _find_person(
    question: _Words, people: PersonLookup, first: int, is_listed: bool
) -> _Name | None:
    """The longest name of a person that begins here, after "by" or before "'s papers"."""
    word = question.words[first]
    before = question.get_before(word.start)
    is_led = is_listed or before.lower().endswith("by ")
    is_meant = _AFTER_WORKS.search(before) is not None
    for after in range(min(first + MAX_NAME_WORDS, len(question.words)), first, -1):
        name, end = tuple(question.folded[first:after]), question.words[after - 1].end
        if not question.is_one_name(first, after):
            continue
        if not is_led:
            is_name = word.is_capitalised and _OWNS.match(question.text, end) is not None
        elif after - first == 1:
            is_name = (
                len(word.text) > 1
                and question.ends_phrase(after)
                and (
                    (is_meant and word.folded not in load_stop_words("en"))
                    or (word.is_capitalised and (is_meant or not question.is_title_case))
                )
            )
        else:
            is_name = question.words[after - 1].is_capitalised or people.has_full_name(name)
        if is_name and (values := people.find(name)):
            return _Name(values, word.start, end)
    return None


def find_name_clauses(
    text: str, field: str, names: NameLookup, year_field: str | None = None
) -> list[Clause]:
    """Clauses that name venues: "at ACL", "EMNLP 2020 papers". A name without a preposition or
    "papers" is a topic: "CoNLL 2003 named entities" can appear anywhere."""
    question = _Words(text)
    clauses = []
    for listed, _ in question.find_lists(partial(_find_name, question, names, year_field)):
        first, end = listed[0], listed[-1].end
        lead = question.find_lead(first.start)
        if lead is None or _TOPIC.match(text, end):
            continue
        word = (lead["word"] or "").lower()
        has_papers = _PAPERS.match(text, end) is not None
        years = [name.year for name in listed if name.year is not None]
        is_placed = word in {"at", "in", "from"} or bool(lead["no"])
        is_title = question.is_title_case and not years and word != "at"
        if is_title or not (is_placed or has_papers):
            continue
        words = split_words(text[first.start : first.end])
        # A name in lower case may be an ordinary word, such as "law".
        is_lower = text.islower() and not names.declared_values.isdisjoint(first.values)
        if (
            any(each.is_acronym for each in words)
            or len(words) - (first.year is not None) > 2
            or (word == "at" and words[0].is_capitalised)
            or (is_lower and (has_papers or word == "at"))
        ):
            values = list(dict.fromkeys(value for name in listed for value in name.values))
            condition: dict[str, Any] = {field: unwrap_single(values)}
            if year_field and years:
                condition[year_field] = unwrap_single(list(dict.fromkeys(years)))
            start = first.start - (len(lead[0]) if is_placed else 0)
            clauses.append(Clause(start, end, condition, bool(lead["no"])))
    return clauses


def _find_name(
    question: _Words, names: NameLookup, year_field: str | None, first: int, is_listed: bool
) -> _Name | None:
    found = names.find(question.folded, first)
    if found is None or not question.is_one_name(first, first + found.length):
        return None
    start, end = question.words[first].start, question.words[first + found.length - 1].end
    text = question.text
    if text[end : end + 1] in set("-_") or (
        not is_listed and text[max(0, start - 1) : start] in set(f"-_{MASK_CHAR}{PARSED_CHAR}")
    ):
        return None  # a part of another word
    year = _YEAR.match(text, end) if year_field else None
    return _Name(found.values, start, year.end() if year else end, year and int(year[1]))


def find_mark_clauses(text: str, field: str, marks: MarkLookup) -> list[Clause]:
    """Clauses that ask for a mark: "best paper award", "award-winning", "without an award"."""
    question = _Words(text)
    clauses: list[Clause] = []
    for prize in _PRIZE.finditer(text):
        words = [word for word in question.words if word.end <= prize.start()]
        start = prize.start()
        values: list[str] = []
        for first in range(max(0, len(words) - MAX_NAME_WORDS), len(words) - 1):
            if not values and question.is_one_name(first, len(words)):
                values = marks.find(question.folded[first : len(words)])
                start = words[first].start if values else start
        lead = question.find_lead(start, _WON)
        if lead is None:
            continue
        if not values and (prize["winning"] or lead["won"] or "without" in (lead["no"] or "")):
            values = marks.values
        if values:
            condition = {field: unwrap_single(values)}
            span = (start - len(lead[0]), prize.end())
            clauses.append(Clause(*span, condition, bool(lead["no"])))
    return clauses


def find_unknown_names(text: str) -> Iterator[tuple[str, Span]]:
    """The ``said_as`` and the place of each unparsed name that must be a person ("papers by
    Qwerty") or a venue ("at ICML")."""
    if not is_title_case(split_words(text)):
        for match in _UNKNOWN.finditer(text):
            said_as = "person" if match["person"] else "name"
            yield said_as, match.span(said_as)
