"""Find filters for authors (said_as: person): "by Ada Lovelace", "Manning's papers"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from retrieval.questions.clauses import Clause, unwrap_single
from retrieval.questions.values import PersonLookup
from retrieval.questions.words import MONTHS, is_title_case, split_word_set, split_words
from summaries.extractive.languages import load_stop_words

MAX_NAMESAKES: Final = 60  # people in one filter
MAX_NAME_WORDS: Final = 5

_BEFORE_BY_WORDS: Final = split_word_set(
    "paper papers article articles publication publications work works research study studies "
    "abstract abstracts document documents written authored coauthored published anything "
    "something everything those ones author authors"
)
_WORK_WORDS: Final = split_word_set(
    "paper papers article articles publication publications work works research study studies "
    "abstracts"
)
_PUBLISH_VERBS: Final = split_word_set("publish published write wrote")
_ET_AL: Final = re.compile(
    r"\s+(?:and\s+(?:colleagues|co-?workers|co-?authors|others)\b|et\s+al\b\.?)", re.IGNORECASE
)
_PARTICLES: Final = split_word_set(
    "van von der den de di da do dos du del della la le el al bin ben ter ten"
)
_PAPER_WORDS: Final = frozenset({"paper", "papers", "publications", "articles"})
_LEAD_IN_WORDS: Final = split_word_set(
    "written authored coauthored published that which was were are is those ones co"
)
_NEGATIONS: Final = frozenset({"not", "except", "excluding", "without"})
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
class _PersonMatch:
    values: list[str]
    first: int  # index of its first word
    end: int  # index of the word after it


class _PersonParser:
    def __init__(self, text: str, field: str, people: PersonLookup) -> None:
        self.text = text
        self.field = field
        self.people = people
        self.words = split_words(text)
        self.problems: list[NameProblem] = []
        self.is_title_case = is_title_case(self.words)

    def parse(self) -> list[Clause]:
        clauses: list[Clause] = []
        number = 0
        while number < len(self.words):
            clause, after = self._read_at(number)
            if clause is not None:
                clauses.append(clause)
            number = max(after, number + 1)
        return clauses

    def _read_at(self, number: int) -> tuple[Clause | None, int]:
        word = self.words[number]
        if word.folded == "by":
            return self._read_list(number, number + 1, has_cue=self._follows_work_word(number))
        if word.folded in {"author", "authors"} and self._is_separated_by(
            number + 1, (" ", ": ", ":")
        ):
            return self._read_list(number, number + 1, has_cue=True, may_be_unknown=False)
        return self._read_possessive(number)

    # --- "by A, B and C" ---------------------------------------------------------------------

    def _read_list(
        self, cue: int, first: int, *, has_cue: bool, may_be_unknown: bool = True
    ) -> tuple[Clause | None, int]:
        person = self._read_person(first, is_cued=has_cue)
        if person is None:
            if may_be_unknown:
                self._note_unknown(cue, first, is_cued=has_cue)
            return None, first
        persons, joint = [person], "and"
        while (step := self._read_conjunction(persons[-1].end)) is not None:
            word, at = step
            another = self._read_person(at, is_cued=True)
            if another is None or (not self.words[at].is_capitalised and not has_cue):
                if word in {"and", "or", "&"} and self._find_capitals_end(at) - at > 1:
                    self._note_unknown(at, at, is_cued=True)
                break
            persons.append(another)
            joint = word if word in {"or"} else joint
        return self._make_clause(cue, persons, joint), persons[-1].end

    def _read_conjunction(self, number: int) -> tuple[str, int] | None:
        """The conjunction between two names of a list, and the index of the second name."""
        if number >= len(self.words):
            return None
        gap, word = self._get_gap(number), self.words[number]
        if gap.strip() in {",", "&"} and word.folded not in {"and", "or"}:
            return gap.strip(), number
        if gap.strip() in {"", ","} and word.folded in {"and", "or"}:
            after = number + 1
            if after < len(self.words) and self.words[after].folded == "by":
                after += 1
            return (word.folded, after) if after < len(self.words) else None
        return None

    def _make_clause(self, cue: int, persons: Sequence[_PersonMatch], conjunction: str) -> Clause:
        start, excluded = self._find_start(cue)
        end = self.words[persons[-1].end - 1].end
        if others := _ET_AL.match(self.text, end):
            end = others.end()
        if conjunction == "or" or excluded:  # "not by A and B" excludes both
            every = [value for person in persons for value in person.values]
            return Clause(start, end, {self.field: unwrap_single(every)}, excluded)
        conditions: list[dict[str, Any]] = [
            {self.field: unwrap_single(person.values)} for person in persons
        ]
        combined = conditions[0] if len(conditions) == 1 else {"all_of": conditions}
        return Clause(start, end, combined, excluded)

    def _find_start(self, cue: int) -> tuple[int, bool]:
        """Offset where the phrase before the cue begins, and whether it is negated."""
        first = cue
        while (
            first > 0
            and self.words[first - 1].folded in _LEAD_IN_WORDS
            and self._is_adjacent(first)
        ):
            first -= 1
        is_negated = first > 0 and self.words[first - 1].folded in _NEGATIONS
        if not is_negated and first > 1 and self.words[first - 1].folded in _WORK_WORDS:
            is_negated = self.words[first - 2].folded in _NEGATIONS  # "excluding papers by"
            first -= is_negated
        if is_negated:
            first -= 1
        if is_negated and first > 0 and self.words[first - 1].folded == "but":
            first -= 1
        return self.words[first].start, is_negated

    # --- "Manning's papers" ------------------------------------------------------------------

    def _read_possessive(self, number: int) -> tuple[Clause | None, int]:
        """Read ``X's [early] papers``, ``X' papers``, or a full name before ``papers``."""
        for after in range(min(number + MAX_NAME_WORDS, len(self.words)), number, -1):
            if not self.words[number].is_capitalised or not self._can_be_one_name(number, after):
                continue
            owned = self._find_possessive_end(number, after)
            if owned is None:
                continue
            end, is_possessive = owned
            if self._is_sentence_start(number) and self.words[number].folded in _NOT_A_PERSON:
                continue
            folded = tuple(word.folded for word in self.words[number:after])
            values = self.people.find(folded)
            is_whole_name = len(folded) > 1 and self.people.has_full_name(folded)
            if values and (is_possessive or is_whole_name):
                person = _PersonMatch(self._limit_namesakes(values, number, after), number, after)
                clause = self._make_clause(number, [person], "and")
                return Clause(clause.start, end, clause.filter, clause.is_excluded), after
            is_meant = after - number > 1 or not self._is_sentence_start(number)
            if is_possessive and is_meant and self._find_capitals_end(number) == after:
                self._add_unknown(number, number, after)
                return None, after
        return None, number + 1

    def _find_possessive_end(self, number: int, after: int) -> tuple[int, bool] | None:
        """Offset where the author phrase ends, and whether it is a possessive; None if no word for
        a work follows."""
        text, last = self.text, self.words[after - 1]
        tail = text[last.end : last.end + 1]
        if tail in {"'", "’"}:
            is_s = after < len(self.words) and self.words[after].folded == "s"
            is_s = is_s and self.words[after].start == last.end + 1
            following = after + 1 if is_s else after
            end = last.end + (2 if is_s else 1)
            near = [word.folded for word in self.words[following : following + 3]]
            if any(word in _PAPER_WORDS for word in near) or (near and near[0] in _WORK_WORDS):
                return end, True
            return None
        if after == len(self.words) or not self._is_adjacent(after):
            return None
        work = self.words[after]
        if work.folded in _PUBLISH_VERBS:
            return work.end, False
        return (last.end, False) if work.folded in _PAPER_WORDS - {"paper"} else None

    # --- Names -------------------------------------------------------------------------------

    def _read_person(self, first: int, *, is_cued: bool) -> _PersonMatch | None:
        """The longest known person name at this word. A single word must look like a surname: after
        ``papers by``, or capitalised at the end of a clause."""
        for after in range(min(first + MAX_NAME_WORDS, len(self.words)), first, -1):
            if not self._can_be_one_name(first, after):
                continue
            words = self.words[first:after]
            folded = tuple(word.folded for word in words)
            is_written_as_name = words[-1].is_capitalised and (
                words[0].is_capitalised or words[0].folded in _PARTICLES
            )
            if len(words) == 1:
                if not self._is_lone_surname(first, is_cued=is_cued):
                    continue
            elif not is_written_as_name and not self.people.has_full_name(folded):
                continue
            if values := self.people.find(folded):
                return _PersonMatch(self._limit_namesakes(values, first, after), first, after)
        return None

    def _is_lone_surname(self, first: int, *, is_cued: bool) -> bool:
        word = self.words[first]
        if len(word.text) < 2 or (word.folded in load_stop_words("en") and not word.is_capitalised):
            return False
        is_followed = self._is_separated_by(first + 1, (" ",))
        if word.folded in MONTHS and is_followed and self.words[first + 1].text[0].isdigit():
            return False  # "by May 2019" is a date
        if self._find_capitals_end(first) - first > 1:
            return False  # the first word of an unknown longer name
        if is_cued:
            return True
        repeats = first > 1 and self.words[first - 2].folded == word.folded  # "step by step"
        return (
            word.is_capitalised
            and not self.is_title_case
            and not repeats
            and self._can_end_clause(first)
        )

    def _can_end_clause(self, number: int) -> bool:
        """Whether a clause may end with this word: punctuation, a function word or nothing
        follows."""
        if not self._is_separated_by(number + 1, (" ",)):
            return True
        following = self.words[number + 1].folded
        return following in load_stop_words("en") or following in {"published", "since", "19", "20"}

    def _limit_namesakes(self, values: list[str], first: int, after: int) -> list[str]:
        if len(values) > MAX_NAMESAKES:
            name = self.text[self.words[first].start : self.words[after - 1].end]
            self.problems.append(TooManyNamesakes(name, len(values)))
        return values[:MAX_NAMESAKES]

    def _note_unknown(self, cue: int, first: int, *, is_cued: bool) -> None:
        """Add a problem for an unknown author, but only if the words must be a name: a capitalised
        word after ``papers by``, or two after ``by`` in a sentence about papers."""
        after = self._find_capitals_end(first)
        if after == first or self.words[first].folded in load_stop_words("en"):
            return
        if self.words[first].folded in MONTHS and after - first == 1:
            return
        if self.is_title_case:
            return
        mentions_works = any(word.folded in _WORK_WORDS for word in self.words[:cue])
        is_meant = is_cued or (after - first > 1 and mentions_works)
        if is_meant:
            self._add_unknown(cue, first, after)

    def _add_unknown(self, cue: int, first: int, after: int) -> None:
        end = self.words[after - 1].end
        self.problems.append(
            UnknownName(self.words[cue].start, end, self.text[self.words[first].start : end])
        )

    # --- Adjacent words ----------------------------------------------------------------------

    def _follows_work_word(self, number: int) -> bool:
        """Whether a word such as ``papers`` or ``written`` is right before this word."""
        before = number - 1
        while before >= 0 and self.words[before].folded in _NEGATIONS | {"but", "only", "co"}:
            before -= 1
        return (
            before >= 0
            and self.words[before].folded in _BEFORE_BY_WORDS
            and self._is_adjacent(before + 1)
        )

    def _get_gap(self, number: int) -> str:
        """The text between the previous word and this one."""
        return self.text[self.words[number - 1].end : self.words[number].start]

    def _is_adjacent(self, number: int) -> bool:
        return self._get_gap(number).strip(" \t-") == ""

    def _is_separated_by(self, number: int, gaps: Sequence[str]) -> bool:
        return number < len(self.words) and self._get_gap(number) in gaps

    def _can_be_one_name(self, first: int, after: int) -> bool:
        """Whether these words may be one name: nothing but spaces, dots, hyphens and
        apostrophes between them, and no ``'s``."""
        for number in range(first + 1, after):
            gap = self._get_gap(number)
            if gap.strip(" .-‐‑'’"):
                return False
            if gap in {"'", "’"} and self.words[number].folded == "s":
                return False
            # A full stop separates sentences, unless it follows an initial.
            if "." in gap and len(self.words[number - 1].text) > 2:
                return False
        return True

    def _find_capitals_end(self, first: int) -> int:
        """Index after the run of capitalised words that begins here."""
        after = first
        while (
            after < len(self.words)
            and self.words[after].is_capitalised
            and (after == first or self._can_be_one_name(after - 1, after + 1))
        ):
            after += 1
        return after

    def _is_sentence_start(self, number: int) -> bool:
        return number == 0 or self._get_gap(number).strip().endswith((".", "?", "!", ":"))


def find_person_clauses(
    text: str, field: str, people: PersonLookup
) -> tuple[list[Clause], list[NameProblem]]:
    """Clauses that name authors, and a problem for each name that is unknown.

    After ``by`` alone, only a known name counts as a person; after ``papers by`` and in ``X's
    papers`` any name does.
    """
    parser = _PersonParser(text, field, people)
    return parser.parse(), parser.problems
