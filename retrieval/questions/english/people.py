"""Who wrote it: "by Ada Lovelace", "Manning's papers", "written by X and Y"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from retrieval.questions.clauses import Clause, one_or_many
from retrieval.questions.values import People
from retrieval.questions.words import MONTHS, is_title, split_words, word_set
from summaries.extractive.languages import stop_words

MOST_NAMESAKES: Final = 60  # a filter names them all
MOST_NAME_WORDS: Final = 5

_WRITING: Final = word_set(
    "paper papers article articles publication publications work works research study studies "
    "abstract abstracts document documents written authored coauthored published anything "
    "something everything those ones author authors"
)
_WORKS: Final = word_set(
    "paper papers article articles publication publications work works research study studies "
    "abstracts"
)
_WRITES: Final = word_set("publish published write wrote")
_OTHERS: Final = re.compile(
    r"\s+(?:and\s+(?:colleagues|co-?workers|co-?authors|others)\b|et\s+al\b\.?)", re.IGNORECASE
)
_PARTICLES: Final = word_set(
    "van von der den de di da do dos du del della la le el al bin ben ter ten"
)
_PAPERS: Final = frozenset({"paper", "papers", "publications", "articles"})
_LEADS: Final = word_set(
    "written authored coauthored published that which was were are is those ones co"
)
_REFUSALS: Final = frozenset({"not", "except", "excluding", "without"})
_NOBODY: Final = word_set(
    "today yesterday tomorrow it let what who that here there this year last world one each other"
)


@dataclass(frozen=True, slots=True)
class Unknown:
    """What names somebody or something that no document here holds."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Crowd:
    """More people of one name than a filter takes; those with most documents were taken."""

    name: str
    count: int


Trouble = Unknown | Crowd


@dataclass(frozen=True, slots=True)
class _Person:
    values: list[str]
    first: int  # number of its first word
    after: int  # of the word after it


class _Reader:
    def __init__(self, text: str, field: str, people: People) -> None:
        self.text = text
        self.field = field
        self.people = people
        self.words = split_words(text)
        self.troubles: list[Trouble] = []
        self.is_title = is_title(self.words)

    def read(self) -> list[Clause]:
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
            return self._read_list(number, number + 1, is_cued=self._follows_writing(number))
        if word.folded in {"author", "authors"} and self._is_next(number + 1, (" ", ": ", ":")):
            return self._read_list(number, number + 1, is_cued=True, may_be_unknown=False)
        return self._read_owner(number)

    # --- "by A, B and C" ---------------------------------------------------------------------

    def _read_list(
        self, cue: int, first: int, *, is_cued: bool, may_be_unknown: bool = True
    ) -> tuple[Clause | None, int]:
        person = self._read_person(first, is_cued=is_cued)
        if person is None:
            if may_be_unknown:
                self._note_unknown(cue, first, is_cued=is_cued)
            return None, first
        persons, joint = [person], "and"
        while (step := self._read_joint(persons[-1].after)) is not None:
            word, at = step
            another = self._read_person(at, is_cued=True)
            if another is None or (not self.words[at].is_capitalised and not is_cued):
                if word in {"and", "or", "&"} and self._capital_run(at) - at > 1:
                    self._note_unknown(at, at, is_cued=True)
                break
            persons.append(another)
            joint = word if word in {"or"} else joint
        return self._make_clause(cue, persons, joint), persons[-1].after

    def _read_joint(self, number: int) -> tuple[str, int] | None:
        """The word between two names of a list, and where the second begins."""
        if number >= len(self.words):
            return None
        gap, word = self._gap(number), self.words[number]
        if gap.strip() in {",", "&"} and word.folded not in {"and", "or"}:
            return gap.strip(), number
        if gap.strip() in {"", ","} and word.folded in {"and", "or"}:
            after = number + 1
            if after < len(self.words) and self.words[after].folded == "by":
                after += 1
            return (word.folded, after) if after < len(self.words) else None
        return None

    def _make_clause(self, cue: int, persons: Sequence[_Person], joint: str) -> Clause:
        start, excluded = self._start(cue)
        end = self.words[persons[-1].after - 1].end
        if others := _OTHERS.match(self.text, end):
            end = others.end()
        if joint == "or" or excluded:  # not by either
            every = [value for person in persons for value in person.values]
            return Clause(start, end, {self.field: one_or_many(every)}, excluded)
        conditions: list[dict[str, Any]] = [
            {self.field: one_or_many(person.values)} for person in persons
        ]
        whole = conditions[0] if len(conditions) == 1 else {"all_of": conditions}
        return Clause(start, end, whole, excluded)

    def _start(self, cue: int) -> tuple[int, bool]:
        """Where the words begin that lead to the cue, and whether they refuse it."""
        first = cue
        while first > 0 and self.words[first - 1].folded in _LEADS and self._is_joined(first):
            first -= 1
        refuses = first > 0 and self.words[first - 1].folded in _REFUSALS
        if not refuses and first > 1 and self.words[first - 1].folded in _WORKS:
            refuses = self.words[first - 2].folded in _REFUSALS  # excluding papers by
            first -= refuses
        if refuses:
            first -= 1
        if refuses and first > 0 and self.words[first - 1].folded == "but":
            first -= 1
        return self.words[first].start, refuses

    # --- "Manning's papers" ------------------------------------------------------------------

    def _read_owner(self, number: int) -> tuple[Clause | None, int]:
        """``X's [early] papers``, ``X' papers``, and a whole name before ``papers``."""
        for after in range(min(number + MOST_NAME_WORDS, len(self.words)), number, -1):
            if not self.words[number].is_capitalised or not self._is_run(number, after):
                continue
            owned = self._find_owned(number, after)
            if owned is None:
                continue
            end, is_possessive = owned
            if self._opens_sentence(number) and self.words[number].folded in _NOBODY:
                continue
            folded = tuple(word.folded for word in self.words[number:after])
            values = self.people.find(folded)
            is_whole_name = len(folded) > 1 and self.people.has(folded)
            if values and (is_possessive or is_whole_name):
                person = _Person(self._limit(values, number, after), number, after)
                clause = self._make_clause(number, [person], "and")
                return Clause(clause.start, end, clause.filter, clause.is_excluded), after
            is_meant = after - number > 1 or not self._opens_sentence(number)
            if is_possessive and is_meant and self._capital_run(number) == after:
                self._add_unknown(number, number, after)
                return None, after
        return None, number + 1

    def _find_owned(self, number: int, after: int) -> tuple[int, bool] | None:
        """Where the possessive ends that makes ``[number:after]`` the owner of some work, and
        whether it is one; None where no work follows."""
        text, last = self.text, self.words[after - 1]
        tail = text[last.end : last.end + 1]
        if tail in {"'", "’"}:
            is_s = after < len(self.words) and self.words[after].folded == "s"
            is_s = is_s and self.words[after].start == last.end + 1
            following = after + 1 if is_s else after
            end = last.end + (2 if is_s else 1)
            near = [word.folded for word in self.words[following : following + 3]]
            if any(word in _PAPERS for word in near) or (near and near[0] in _WORKS):
                return end, True
            return None
        if after == len(self.words) or not self._is_joined(after):
            return None
        work = self.words[after]
        if work.folded in _WRITES:
            return work.end, False
        return (last.end, False) if work.folded in _PAPERS - {"paper"} else None

    # --- Names -------------------------------------------------------------------------------

    def _read_person(self, first: int, *, is_cued: bool) -> _Person | None:
        """The longest name at this word that somebody has. One word alone has to look like a
        surname that is meant: after ``papers by``, or with a capital and nothing more after it."""
        for after in range(min(first + MOST_NAME_WORDS, len(self.words)), first, -1):
            if not self._is_run(first, after):
                continue
            words = self.words[first:after]
            folded = tuple(word.folded for word in words)
            is_written_as_name = words[-1].is_capitalised and (
                words[0].is_capitalised or words[0].folded in _PARTICLES
            )
            if len(words) == 1:
                if not self._may_stand_alone(first, is_cued=is_cued):
                    continue
            elif not is_written_as_name and not self.people.has(folded):
                continue
            if values := self.people.find(folded):
                return _Person(self._limit(values, first, after), first, after)
        return None

    def _may_stand_alone(self, first: int, *, is_cued: bool) -> bool:
        word = self.words[first]
        if len(word.text) < 2 or (word.folded in stop_words("en") and not word.is_capitalised):
            return False
        is_followed = self._is_next(first + 1, (" ",))
        if word.folded in MONTHS and is_followed and self.words[first + 1].text[0].isdigit():
            return False  # by May 2019
        if self._capital_run(first) - first > 1:
            return False  # the first of several that together are nobody
        if is_cued:
            return True
        repeats = first > 1 and self.words[first - 2].folded == word.folded  # step by step
        return word.is_capitalised and not self.is_title and not repeats and self._ends_here(first)

    def _ends_here(self, number: int) -> bool:
        """Whether a clause may end with this word: nothing, a mark or a function word follows."""
        if not self._is_next(number + 1, (" ",)):
            return True
        following = self.words[number + 1].folded
        return following in stop_words("en") or following in {"published", "since", "19", "20"}

    def _limit(self, values: list[str], first: int, after: int) -> list[str]:
        if len(values) > MOST_NAMESAKES:
            name = self.text[self.words[first].start : self.words[after - 1].end]
            self.troubles.append(Crowd(name, len(values)))
        return values[:MOST_NAMESAKES]

    def _note_unknown(self, cue: int, first: int, *, is_cued: bool) -> None:
        """Only what can hardly be anything but a name: capitals after ``papers by``, or two of
        them after ``by`` in a sentence that speaks of papers."""
        after = self._capital_run(first)
        if after == first or self.words[first].folded in stop_words("en"):
            return
        if self.words[first].folded in MONTHS and after - first == 1:
            return
        if self.is_title:
            return
        speaks_of_works = any(word.folded in _WORKS for word in self.words[:cue])
        is_meant = is_cued or (after - first > 1 and speaks_of_works)
        if is_meant:
            self._add_unknown(cue, first, after)

    def _add_unknown(self, cue: int, first: int, after: int) -> None:
        end = self.words[after - 1].end
        self.troubles.append(
            Unknown(self.words[cue].start, end, self.text[self.words[first].start : end])
        )

    # --- Words side by side ------------------------------------------------------------------

    def _follows_writing(self, number: int) -> bool:
        """Whether ``papers``, ``written`` and the like stand right before this word."""
        before = number - 1
        while before >= 0 and self.words[before].folded in _REFUSALS | {"but", "only", "co"}:
            before -= 1
        return before >= 0 and self.words[before].folded in _WRITING and self._is_joined(before + 1)

    def _gap(self, number: int) -> str:
        """What stands before this word."""
        return self.text[self.words[number - 1].end : self.words[number].start]

    def _is_joined(self, number: int) -> bool:
        return self._gap(number).strip(" \t-") == ""

    def _is_next(self, number: int, gaps: Sequence[str]) -> bool:
        return number < len(self.words) and self._gap(number) in gaps

    def _is_run(self, first: int, after: int) -> bool:
        """Whether these words may be one name: nothing but spaces, dots, hyphens and
        apostrophes between them, and no ``'s``."""
        for number in range(first + 1, after):
            gap = self._gap(number)
            if gap.strip(" .-‐‑'’"):
                return False
            if gap in {"'", "’"} and self.words[number].folded == "s":
                return False
            # A full stop parts sentences, unless what it follows is an initial.
            if "." in gap and len(self.words[number - 1].text) > 2:
                return False
        return True

    def _capital_run(self, first: int) -> int:
        """Where the words with capitals end that begin here."""
        after = first
        while (
            after < len(self.words)
            and self.words[after].is_capitalised
            and (after == first or self._is_run(after - 1, after + 1))
        ):
            after += 1
        return after

    def _opens_sentence(self, number: int) -> bool:
        return number == 0 or self._gap(number).strip().endswith((".", "?", "!", ":"))


def find_people(text: str, field: str, people: People) -> tuple[list[Clause], list[Trouble]]:
    """Every clause that names persons, and what is to be said of names nobody has.

    ``by`` alone leads to a person only where somebody has the name; ``papers by`` and ``X's
    papers`` are taken for one in any case.
    """
    reader = _Reader(text, field, people)
    return reader.read(), reader.troubles
