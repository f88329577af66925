"""Find filters for the people and places that an index names: "by Ada Lovelace", "Manning's
papers", "at ACL", "EMNLP 2020 papers".

The words of a question are looked up among the values of the index. A value counts only where the
words around it say that it is a filter; elsewhere it may be the topic.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retrieval.questions.clauses import (
    DOCUMENT_WORDS_PATTERN,
    Clause,
    RequestFilter,
    join_filters,
    unwrap_single,
)
from retrieval.questions.values import NameLookup, PersonLookup
from retrieval.words import (
    MASK_CHAR,
    MONTHS,
    PARSED_CHAR,
    is_title_case,
    split_word_set,
    split_words,
)
from summaries.extractive.languages import STOP_WORD_LANGUAGES, load_stop_words

MAX_NAMESAKES: Final = 60  # people in one filter
MAX_NAME_WORDS: Final = 5
CONTEXT_CHARS: Final = 120  # looked at before a name

_WORKS: Final = DOCUMENT_WORDS_PATTERN
_NEGATION: Final = (
    r"(?:but\s+)?(?:not|never|except(?:\s+for)?|excluding|without|other\s+than|outside(?:\s+of)?"
    r"|apart(?:\s+from)?|(?:any|every)(?:thing|where)\s+but)\s+"
)
_VERB: Final = (
    r"(?:(?:co-?)?(?:written|authored)|published|presented|appear(?:ed|ing)?|accepted"
    r"|(?:in\s+(?:the\s+)?)?proceedings)\s+"
)
# What leads to a name: "that were not published by", "excluding papers from", "at the".
_LEAD: Final = re.compile(
    rf"(?:\b(?:(?:that|which|those)\s+)?(?:(?:was|were|is|are|did|does|do)\s+){{0,2}}"
    rf"(?={_NEGATION}|{_VERB}))?(?P<no>\b{_NEGATION})?(?(no)(?:{_WORKS}\s+)?)(?:\b{_VERB})?"
    r"(?:\b(?P<word>by|authors?:?|at|in|from|of)\s+(?:the\s+)?)?$",
    re.IGNORECASE,
)
_BY: Final = re.compile(r"(?:by|authors?:?) $", re.IGNORECASE)
# "Papers by" and "written by" are followed by a person, whether the index has that person or not.
_AFTER_WORKS: Final = re.compile(
    rf"\b(?:{_WORKS}|written|authored|published|(?:any|some|every)thing|those|ones)\s+"
    rf"(?:(?:{_NEGATION}|only\s+))?by\s+$|\bauthors?:?\s+$",
    re.IGNORECASE,
)
_PERSON_OWNS: Final = re.compile(
    rf"['’](?:s\b)?(?=\s+(?:{_WORKS}|(?:\w+\s+){{0,2}}(?:papers?|articles|publications))\b)",
    re.IGNORECASE,
)
_PERSON_ACTS: Final = re.compile(
    r"(?P<verb>\s+(?:publish(?:ed)?|wrote|write)\b)|(?=\s+(?:papers|articles|publications)\b)",
    re.IGNORECASE,
)
_ET_AL: Final = re.compile(
    r"\s+(?:and\s+(?:colleagues|co-?workers|co-?authors|others)\b|et\s+al\b\.?)", re.IGNORECASE
)
_PUBLISHED: Final = re.compile(r"\b(?:published|presented|appear(?:ed|ing)?|accepted)\s+$", re.I)
_PAPERS_BEFORE: Final = re.compile(r"\b(?:papers?|articles?|publications?|work)\s+$", re.I)
_PAPERS_AFTER: Final = re.compile(
    r"\s+(?:(?:long|short|demo|main|conference|workshop)\s+)?"
    r"(?:papers?|articles?|publications?|proceedings|submissions)\b",
    re.IGNORECASE,
)
# A name before one of these words belongs to a topic: "CoNLL 2003 shared task".
_TOPIC_AFTER: Final = re.compile(
    r"\s+(?:tasks?|shared|datasets?|data|corpus|corpora|benchmarks?|test|dev|news|systems?"
    r"|challenge|style)\b",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(
    r"\s*(?P<word>(?:,\s*)?\b(?:and|or)\b|[,/&+-])\s*(?:(?:by|at|in|the)\s+){0,2}", re.IGNORECASE
)
_NAME_YEAR: Final = re.compile(r"(?:[ –-](?P<full>(?:1[5-9]|20)\d\d)|\s?['’](?P<short>\d\d))(?!\w)")
_PARTICLES: Final = split_word_set(
    "van von der den de di da do dos du del della la le el al bin ben ter ten"
)
_NOT_A_PERSON: Final = split_word_set(
    "today yesterday tomorrow it let what who that here there this year last world one each other"
)


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name in the question that no document of the index has."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class TooManyNamesakes:
    """A name that more people share than a filter may list; those with most documents are kept."""

    name: str
    count: int


NameProblem = UnknownName | TooManyNamesakes


@dataclass(frozen=True, slots=True)
class _Name:
    values: Sequence[str]
    start: int  # offsets in the text
    end: int
    after: int  # index of the word after it
    year: int | None = None


class _Reader(ABC):
    """The words of a question, and what stands between and around them."""

    def __init__(self, text: str, field: str) -> None:
        self.text = text
        self.field = field
        self.words = split_words(text)
        self.folded = [word.folded for word in self.words]
        self.is_title_case = is_title_case(self.words)
        self.problems: list[NameProblem] = []

    @abstractmethod
    def read_name(self, first: int, *, is_listed: bool) -> _Name | None:
        """The longest name of the index that begins at this word."""

    @abstractmethod
    def read_clause(self, listed: Sequence[_Name], joints: Sequence[str]) -> Clause | None:
        """The clause of these names; None if they belong to the topic."""

    @abstractmethod
    def find_unknown(self, first: int, after: int) -> int | None:
        """Offset where the phrase begins if these capitalised words are a name that the index does
        not have."""

    def parse(self) -> Iterator[Clause]:
        number = 0
        while number < len(self.words):
            listed, joints = self._read_list(number)
            if listed:
                if (clause := self.read_clause(listed, joints)) is not None:
                    yield clause
                number = listed[-1].after
            else:
                after = self.find_capitals_end(number)
                start = self.find_unknown(number, after) if after > number else None
                if start is not None:
                    self.add_unknown(start, number, after)
                number = after if start is not None else number + 1

    def _read_list(self, first: int) -> tuple[list[_Name], list[str]]:
        names: list[_Name] = []
        joints: list[str] = []
        name = self.read_name(first, is_listed=False)
        while name is not None:
            names.append(name)
            if (following := self.find_joint(name)) is None:
                break
            joint, number = following
            if (name := self.read_name(number, is_listed=True)) is not None:
                joints.append(joint)
        return names, joints

    def find_joint(self, name: _Name) -> tuple[str, int] | None:
        """The comma, "and" or "or" after a name, and the index of the word after it."""
        joint = _JOINT.match(self.text, name.end)
        if joint is None:
            return None
        for number in range(name.after, len(self.words)):
            if self.words[number].start >= joint.end():
                at_once = not self.text[joint.end() : self.words[number].start].strip("'’")
                return (joint["word"].lower(), number) if at_once else None
        return None

    def get_before(self, start: int) -> str:
        return self.text[max(0, start - CONTEXT_CHARS) : start]

    def find_lead(self, start: int) -> re.Match[str]:
        found = _LEAD.search(self.get_before(start))
        assert found is not None  # it may be empty
        return found

    def get_lead_start(self, lead: re.Match[str], start: int) -> int:
        return start - (lead.end() - lead.start())

    def is_one_name(self, first: int, after: int) -> bool:
        """Whether these words may be one name: nothing but spaces, dots, hyphens and apostrophes
        between them, no ``'s``, and no full stop but after an initial."""
        for number in range(first + 1, after):
            gap = self.text[self.words[number - 1].end : self.words[number].start]
            is_possessive = gap in {"'", "’"} and self.folded[number] == "s"
            is_sentence_end = "." in gap and len(self.words[number - 1].text) > 2
            if gap.strip(" .-‐‑–&'’*") or is_possessive or is_sentence_end:
                return False
        return True

    def find_capitals_end(self, first: int) -> int:
        """Index after the run of capitalised words that begins here, of a bounded length."""
        after = first
        while (
            after < min(len(self.words), first + 2 * MAX_NAME_WORDS)
            and self.words[after].is_capitalised
            and self.is_one_name(max(first, after - 1), after + 1)
        ):
            after += 1
        return after

    def ends_clause(self, after: int) -> bool:
        """Whether punctuation, a stop word or nothing is before this word."""
        if after >= len(self.words):
            return True
        gap = self.text[self.words[after - 1].end : self.words[after].start]
        return bool(gap.strip()) or self.folded[after] in load_stop_words("en")

    def add_unknown(self, start: int, first: int, after: int) -> None:
        end = self.words[after - 1].end
        self.problems.append(UnknownName(start, end, self.text[self.words[first].start : end]))


class _PersonReader(_Reader):
    def __init__(self, text: str, field: str, people: PersonLookup) -> None:
        super().__init__(text, field)
        self.people = people

    def read_name(self, first: int, *, is_listed: bool) -> _Name | None:
        before = self.get_before(self.words[first].start)
        is_led = is_listed or _BY.search(before) is not None
        is_meant = is_listed or _AFTER_WORKS.search(before) is not None
        for after in range(min(first + MAX_NAME_WORDS, len(self.words)), first, -1):
            if not self.is_one_name(first, after):
                continue
            if not is_led:
                may_be_name = self._owns_or_acts(first, after)
            elif after - first == 1:
                may_be_name = self._is_surname(first, is_meant=is_meant)
            else:
                may_be_name = self._is_full_name(first, after)
            if may_be_name and (values := self.people.find(tuple(self.folded[first:after]))):
                return self._make_name(values, first, after)
        return None

    def read_clause(self, listed: Sequence[_Name], joints: Sequence[str]) -> Clause | None:
        start, end = listed[0].start, listed[-1].end
        lead = self.find_lead(start)
        if others := _ET_AL.match(self.text, end):
            end = others.end()
        elif owned := _PERSON_OWNS.match(self.text, end):
            end = owned.end()
        elif (acts := _PERSON_ACTS.match(self.text, end)) and acts["verb"]:
            end = acts.end()
        is_excluded = bool(lead["no"])
        start = self.get_lead_start(lead, start)
        if is_excluded or any(joint.endswith("or") for joint in joints):
            every = [value for name in listed for value in name.values]  # "not by A and B": neither
            return Clause(start, end, {self.field: unwrap_single(every)}, is_excluded)
        conditions = [{self.field: unwrap_single(name.values)} for name in listed]
        combined = conditions[0] if len(conditions) == 1 else {"all_of": conditions}
        return Clause(start, end, combined)

    def find_unknown(self, first: int, after: int) -> int | None:
        word = self.words[first]
        if self.is_title_case or word.folded in load_stop_words("en"):
            return None
        before = self.get_before(word.start)
        is_several = after - first > 1
        if before.lower().endswith("by "):
            mentions_works = re.search(rf"\b{_WORKS}\b", before, re.IGNORECASE) is not None
            is_meant = bool(_AFTER_WORKS.search(before)) or (is_several and mentions_works)
            is_name = is_several or word.folded not in MONTHS
            return word.start - len("by ") if is_meant and is_name else None
        is_meant = self._owns_works(first, after) and (is_several or bool(before.strip()))
        return word.start if is_meant else None

    def _is_full_name(self, first: int, after: int) -> bool:
        """Whether several words are written as a name, or are the whole name of someone."""
        begin, end = self.words[first], self.words[after - 1]
        is_written = begin.is_capitalised or begin.folded in _PARTICLES
        return (is_written and end.is_capitalised) or self._is_known(first, after)

    def _is_known(self, first: int, after: int) -> bool:
        return after - first > 1 and self.people.has_full_name(tuple(self.folded[first:after]))

    def _owns_or_acts(self, first: int, after: int) -> bool:
        """Whether a work is said to be this person's: "Manning's papers", "Ada Lovelace wrote"."""
        if not self.words[first].is_capitalised:
            return False
        acts = _PERSON_ACTS.match(self.text, self.words[after - 1].end) is not None
        return self._owns_works(first, after) or (acts and self._is_known(first, after))

    def _is_surname(self, first: int, *, is_meant: bool) -> bool:
        """Whether one word must be a surname: after ``papers by``, or capitalised at the end of a
        clause."""
        word = self.words[first]
        if len(word.text) < 2 or (word.folded in load_stop_words("en") and not word.is_capitalised):
            return False
        if word.folded in MONTHS and re.match(r" \d", self.text[word.end : word.end + 2]):
            return False  # "by May 2019" is a date
        if self.find_capitals_end(first) - first > 1:
            return False  # the first word of a longer name that is unknown
        return is_meant or (
            word.is_capitalised and not self.is_title_case and self.ends_clause(first + 1)
        )

    def _owns_works(self, first: int, after: int) -> bool:
        if self.folded[first] in _NOT_A_PERSON:
            return False
        return _PERSON_OWNS.match(self.text, self.words[after - 1].end) is not None

    def _make_name(self, values: Sequence[str], first: int, after: int) -> _Name:
        start, end = self.words[first].start, self.words[after - 1].end
        if len(values) > MAX_NAMESAKES:
            self.problems.append(TooManyNamesakes(self.text[start:end], len(values)))
        return _Name(values[:MAX_NAMESAKES], start, end, after)


class _PlaceReader(_Reader):
    def __init__(self, text: str, field: str, year_field: str | None, names: NameLookup) -> None:
        super().__init__(text, field)
        self.year_field = year_field
        self.names = names
        self.is_lower_case = not any(word.is_capitalised for word in self.words)

    def read_name(self, first: int, *, is_listed: bool) -> _Name | None:
        found = self.names.find(self.folded, first)
        if found is None or not self.is_one_name(first, first + found.length):
            return None
        after = first + found.length
        start, end = self.words[first].start, self.words[after - 1].end
        if not is_listed and start and self.text[start - 1] in f"-_{MASK_CHAR}{PARSED_CHAR}":
            return None  # the end of another word
        dated = _NAME_YEAR.match(self.text, end) if self.year_field else None
        if dated is not None:
            year = _expand_year(dated["full"] or dated["short"])
            return _Name(found.values, start, dated.end(), after + 1, year)
        name = _Name(found.values, start, end, after)
        if self.text[end : end + 1] in {"-", "_"}:  # the start of another word, or ACL-IJCNLP
            joint = self.find_joint(name)
            if joint is None or self.names.find(self.folded, joint[1]) is None:
                return None
        return name

    def read_clause(self, listed: Sequence[_Name], joints: Sequence[str]) -> Clause | None:
        first, last = listed[0], listed[-1]
        lead = self.find_lead(first.start)
        is_placed = (lead["word"] or "").lower() in {"at", "in", "from"} or (
            "proceedings" in lead[0].lower()
        )
        if _TOPIC_AFTER.match(self.text, last.end) or not self._is_place(
            listed, lead, is_placed=is_placed
        ):
            return None
        if is_placed and (following := self.find_joint(last)):
            self._note_unknown_alternative(following[1])
        start = self.get_lead_start(lead, first.start) if is_placed or lead["no"] else first.start
        return Clause(start, last.end, self._make_filter(listed), bool(lead["no"]))

    def find_unknown(self, first: int, after: int) -> int | None:
        """As for ``published in Nature`` and ``papers at ICML``, but not for ``papers in Arabic``
        and ``attention at BERT's layers``."""
        word = self.words[first]
        placed = re.search(r"\b(at|in)\s+(?:the\s+)?$", self.get_before(word.start), re.IGNORECASE)
        if placed is None or self.is_title_case:
            return None
        if word.folded in STOP_WORD_LANGUAGES.values() or word.folded in MONTHS:
            return None
        start = word.start - (placed.end() - placed.start())
        before = self.get_before(start)
        is_at = placed[1].lower() == "at"
        is_meant = (
            _PUBLISHED.search(before)
            or (_PAPERS_BEFORE.search(before) and (word.is_acronym or is_at))
            or (is_at and word.is_acronym and self.ends_clause(after))
        )
        return start if is_meant else None

    def _is_place(self, listed: Sequence[_Name], lead: re.Match[str], *, is_placed: bool) -> bool:
        """Whether the words around show that the name is where a document appeared. A name in lower
        case, which may be an ordinary word, counts only if the whole question is in lower case."""
        has_papers = _PAPERS_AFTER.match(self.text, listed[-1].end) is not None
        if not is_placed and not has_papers and not lead["no"]:
            return False
        first = listed[0]
        words = split_words(self.text[first.start : first.end])
        has_year = any(name.year is not None for name in listed)
        is_at = (lead["word"] or "").lower() == "at" or "proceedings" in lead[0].lower()
        if len(words) - (first.year is not None) > 2 or any(word.is_acronym for word in words):
            return has_year or not self.is_title_case or is_at
        if is_at:
            return self.is_lower_case or words[0].is_capitalised
        if self.is_lower_case and (has_papers or lead["no"]):
            return has_year or not self.names.declared_values.isdisjoint(first.values)
        return words[0].is_capitalised and has_year

    def _make_filter(self, listed: Sequence[_Name]) -> dict[str, Any]:
        """Filter for a list of names. If only the last name has a year, it applies to all."""
        if all(name.year is None for name in listed[:-1]):
            values = dict.fromkeys(value for name in listed for value in name.values)
            return self._make_condition(list(values), listed[-1].year)
        return {"any_of": [self._make_condition(name.values, name.year) for name in listed]}

    def _make_condition(self, values: Sequence[str], year: int | None) -> dict[str, Any]:
        dated: list[RequestFilter] = []
        if year is not None and self.year_field is not None:
            dated = [{self.year_field: year}]
        return join_filters([{self.field: unwrap_single(values)}, *dated])

    def _note_unknown_alternative(self, number: int) -> None:
        """Add a problem for the second name in "at ACL or ICML" if the index has no such name."""
        if self.words[number].is_acronym:
            self.add_unknown(self.words[number].start, number, number + 1)


def find_person_clauses(
    text: str, field: str, people: PersonLookup
) -> tuple[list[Clause], list[NameProblem]]:
    """Clauses that name authors, and a problem for each name that is unknown.

    After ``by`` alone, only a known name counts as a person; after ``papers by`` and in ``X's
    papers`` any name does.
    """
    return _parse(_PersonReader(text, field, people))


def find_name_clauses(
    text: str, field: str, names: NameLookup, *, year_field: str | None = None
) -> tuple[list[Clause], list[NameProblem]]:
    """Clauses that name a venue, and a problem for each venue that is unknown. A name without a
    preposition or "papers" is a topic: "CoNLL 2003 named entities" can appear anywhere."""
    return _parse(_PlaceReader(text, field, year_field, names))


def _parse(reader: _Reader) -> tuple[list[Clause], list[NameProblem]]:
    return list(reader.parse()), reader.problems


def _expand_year(digits: str) -> int:
    return int(digits if len(digits) == 4 else ("19" if digits >= "50" else "20") + digits)
