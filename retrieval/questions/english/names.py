"""Where it appeared: "at ACL", "EMNLP 2020 papers", "in the TACL", "ACL or EMNLP"."""

from dataclasses import dataclass
from typing import Any, Final

from retrieval.questions.clauses import Clause, join_filters, one_or_many
from retrieval.questions.english.people import Trouble, Unknown
from retrieval.questions.values import Names
from retrieval.questions.words import MASK, MONTHS, TAKEN, is_title, split_words, word_set
from summaries.extractive.languages import LANGUAGES, stop_words

_PAPERS: Final = word_set(
    "paper papers article articles publication publications proceedings submissions"
)
_SORTS: Final = word_set("long short demo main conference workshop")
_APPEARING: Final = word_set(
    "published presented appeared appearing appear accepted papers paper articles article "
    "publications work"
)
_SURE: Final = word_set("published presented appeared appearing appear accepted")
_PLACING: Final = frozenset({"at", "in", "from"})
_REFUSALS: Final = frozenset({"not", "except", "excluding", "without"})
# What makes a name the first word of a topic: "CoNLL 2003 shared task", "SemEval-2017 task 4".
_TOPICS: Final = word_set(
    "task tasks shared dataset datasets data corpus corpora benchmark benchmarks test dev news "
    "systems system challenge style"
)
_LEADS: Final = word_set(
    "published presented appeared appearing accepted proceedings the of that which was were is "
    "are to appear those"
)


@dataclass(frozen=True, slots=True)
class _Name:
    values: tuple[str, ...]
    year: int | None
    first: int  # number of its first word
    after: int  # of the word after it, its year included


class _Reader:
    def __init__(self, text: str, field: str, year_field: str | None, names: Names) -> None:
        self.text = text
        self.field = field
        self.year_field = year_field
        self.names = names
        self.words = split_words(text)
        self.folded = [word.folded for word in self.words]
        self.is_small = not any(word.is_capitalised for word in self.words)
        self.is_title = is_title(self.words)
        self.troubles: list[Trouble] = []

    def read(self) -> list[Clause]:
        clauses: list[Clause] = []
        number = 0
        while number < len(self.words):
            listed = self._read_list(number)
            if listed:
                if clause := self._read_clause(listed):
                    clauses.append(clause)
                number = listed[-1].after
                continue
            self._note_unknown(number)
            number += 1
        return clauses

    # --- Names and lists of them -------------------------------------------------------------

    def _read_list(self, first: int) -> list[_Name]:
        names: list[_Name] = []
        name = self._read_name(first)
        while name is not None:
            names.append(name)
            following = self._after_joint(name.after)
            name = None if following is None else self._read_name(following)
        return names

    def _read_name(self, first: int) -> _Name | None:
        found = self.names.find(self.folded, first)
        if found is None or not self._is_whole(first, first + found.length):
            return None
        after = first + found.length
        year = self._read_year(after)
        return _Name(found.values, year, first, after + (year is not None))

    def _read_year(self, number: int) -> int | None:
        """The year of "ACL 2020", "ACL-2020" and "ACL'20"."""
        if number >= len(self.words) or self.year_field is None:
            return None
        digits, gap = self.words[number].text, self._gap(number)
        if not digits.isascii() or not digits.isdigit():
            return None
        if len(digits) == 4 and gap in {" ", "-", "–"} and "1500" <= digits < "2100":
            return int(digits)
        if len(digits) == 2 and gap.strip() in {"'", "’"}:
            return int(("19" if digits >= "50" else "20") + digits)
        return None

    def _after_joint(self, number: int) -> int | None:
        """Where the next name of a list would begin."""
        if number >= len(self.words):
            return None
        gap = self._gap(number)
        if gap.strip() in {",", "/", "&", "-", "+"}:
            number += self.folded[number] in {"and", "or"}
        elif not gap.strip() and self.folded[number] in {"and", "or"}:
            number += 1
        else:
            return None
        while number < len(self.words) and self.folded[number] in {"at", "in", "the"}:
            number += 1
        return number if number < len(self.words) else None

    # --- What stands around them -------------------------------------------------------------

    def _read_clause(self, listed: list[_Name]) -> Clause | None:
        first, after = listed[0].first, listed[-1].after
        if after < len(self.words) and self.folded[after] in _TOPICS and self._is_joined(after):
            return None
        cue = self._find_cue(first)
        papers = self._find_papers(after)
        if not self._is_meant(listed, cue, has_papers=papers is not None):
            return None
        start, excluded = self._find_start(first)
        end = self.words[after - 1].end
        self._note_rest(after, cue)
        return Clause(start, end, self._make_filter(listed), excluded)

    def _find_cue(self, first: int) -> str:
        """``at``, ``in``, ``not`` … right before the name; empty where there is none."""
        before = first - 1
        while before >= 0 and self.folded[before] == "the" and self._is_joined(before + 1):
            before -= 1
        if before < 0 or not self._is_joined(before + 1):
            return ""
        word = self.folded[before]
        if word == "of" and before > 0 and self.folded[before - 1] == "proceedings":
            return "at"
        return word if word in _PLACING | _REFUSALS else ""

    def _find_papers(self, after: int) -> int | None:
        """The number of the word ``papers`` after a name, or after "long" and the like."""
        for number in range(after, min(after + 2, len(self.words))):
            if not self._is_joined(number):
                return None
            if self.folded[number] in _PAPERS:
                return number
            if self.folded[number] not in _SORTS:
                return None
        return None

    def _is_meant(self, listed: list[_Name], cue: str, *, has_papers: bool) -> bool:
        """Whether the words around say that this is where something appeared. A name in small
        letters, which may be a word like any other, has to be written so all over."""
        if not cue and not has_papers:
            return False
        first = listed[0]
        words = self.words[first.first : first.after - (first.year is not None)]
        has_year = any(name.year is not None for name in listed)
        if len(words) > 2 or any(word.is_acronym for word in words):
            return has_year or not self.is_title or cue == "at"
        if cue == "at":
            return self.is_small or words[0].is_capitalised
        is_declared = not self.names.declared.isdisjoint(first.values)
        if self.is_small and (has_papers or cue in _REFUSALS):
            return has_year or is_declared
        return words[0].is_capitalised and has_year

    def _find_start(self, first: int) -> tuple[int, bool]:
        """Where the words begin that lead to the name, and whether they refuse it."""
        start = first
        is_led = False
        while (
            start > 0
            and self._is_joined(start)
            and (self.folded[start - 1] in _PLACING or self.folded[start - 1] in _LEADS)
        ):
            start -= 1
            is_led = True
        while is_led and start < first and self.folded[start] in {"of", "to", "is", "are"}:
            start += 1  # of the topic, not of the name
        before = start - 1
        if before >= 1 and self.folded[before] in _PAPERS and self.folded[before - 1] in _REFUSALS:
            before -= 1  # excluding papers from ACL
        if before < 0 or self.folded[before] not in _REFUSALS:
            return self.words[start].start, False
        if before > 0 and self.folded[before - 1] == "but":
            before -= 1
        return self.words[before].start, True

    def _make_filter(self, listed: list[_Name]) -> dict[str, Any]:
        """A year after the last name alone is the year of all."""
        years = {name.year for name in listed[:-1]}
        if years <= {None}:
            values = list(dict.fromkeys(value for name in listed for value in name.values))
            return join_filters([{self.field: one_or_many(values)}, self._year(listed[-1].year)])
        alternatives = [
            join_filters([{self.field: one_or_many(name.values)}, self._year(name.year)])
            for name in listed
        ]
        return {"any_of": alternatives}

    def _year(self, year: int | None) -> dict[str, Any]:
        return {} if year is None or self.year_field is None else {self.year_field: year}

    # --- Names of nothing here ---------------------------------------------------------------

    def _note_rest(self, after: int, cue: str) -> None:
        """Of "at ACL or ICML" the second, where nothing here is called so."""
        following = self._after_joint(after)
        if cue == "at" and following is not None and self.words[following].is_acronym:
            word = self.words[following]
            self.troubles.append(Unknown(word.start, word.end, word.text))

    def _note_unknown(self, number: int) -> None:
        """``published in Nature``, ``papers at ICML``, ``parsing at ICML``."""
        is_placed = self.folded[number] in {"at", "in"} and self._is_joined(number)
        if self.is_title or not is_placed:
            return
        first = number + 1
        while first < len(self.words) and self.folded[first] == "the":
            first += 1
        after = self._capital_run(first)
        if after == first or self.names.find(self.folded, first):
            return
        word = self.words[first]
        if word.folded in LANGUAGES.values() or word.folded in MONTHS or word.text.isdigit():
            return
        if self._is_meant_unknown(number, first, after):
            end = self.words[after - 1].end
            said = Unknown(self.words[number].start, end, self.text[word.start : end])
            self.troubles.append(said)

    def _is_meant_unknown(self, number: int, first: int, after: int) -> bool:
        """Whether the words around say that something appeared there: ``papers in Arabic`` did
        not, nor did attention at BERT's layers."""
        lead, is_acronym = self.folded[number - 1], self.words[first].is_acronym
        if lead in _APPEARING:
            return is_acronym or lead in _SURE or self.folded[number] == "at"
        ends_here = after == len(self.words) or (
            not self._is_joined(after) or self.folded[after] in stop_words("en")
        )
        return self.folded[number] == "at" and is_acronym and ends_here

    def _capital_run(self, first: int) -> int:
        after = first
        while after < len(self.words) and self.words[after].is_capitalised:
            if after > first and not self._is_joined(after):
                break
            after += 1
        return after

    # --- Words side by side ------------------------------------------------------------------

    def _gap(self, number: int) -> str:
        """What stands before this word."""
        return self.text[self.words[number - 1].end : self.words[number].start]

    def _is_joined(self, number: int) -> bool:
        return number > 0 and not self._gap(number).strip()

    def _is_whole(self, first: int, after: int) -> bool:
        """Whether the words stand together, and for themselves: a hyphen on either side makes
        them part of something else, unless a year follows it."""
        gaps = [self._gap(number) for number in range(first + 1, after)]
        if any(gap.strip(" -–&.,'’*") for gap in gaps):
            return False
        start, end = self.words[first].start, self.words[after - 1].end
        if start > 0 and self.text[start - 1] in f"-_{MASK}{TAKEN}":
            before = first - 1  # the other half of ACL-IJCNLP
            return before >= 0 and self.names.find(self.folded, before) is not None
        if end < len(self.text) and self.text[end] in "-_":
            year = self._read_year(after)
            joint = self._after_joint(after)
            another = None if joint is None else self.names.find(self.folded, joint)
            return year is not None or another is not None
        return True


def find_names(
    text: str, field: str, names: Names, *, year_field: str | None = None
) -> tuple[list[Clause], list[Trouble]]:
    """Every clause that names where something appeared, and what is to be said of names nobody
    knows here. A name alone is a topic: "CoNLL 2003 named entities" may be written anywhere."""
    reader = _Reader(text, field, year_field, names)
    return reader.read(), reader.troubles
