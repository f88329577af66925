"""Find filters for venues (said_as: name): "at ACL", "EMNLP 2020 papers", "ACL or EMNLP"."""

from dataclasses import dataclass
from typing import Any, Final

from retrieval.questions.clauses import Clause, join_filters, unwrap_single
from retrieval.questions.english.people import NameProblem, UnknownName
from retrieval.questions.values import NameLookup
from retrieval.questions.words import (
    MASK_CHAR,
    MONTHS,
    PARSED_CHAR,
    is_title_case,
    split_word_set,
    split_words,
)
from summaries.extractive.languages import STOP_WORD_LANGUAGES, load_stop_words

_PAPER_WORDS: Final = split_word_set(
    "paper papers article articles publication publications proceedings submissions"
)
_PAPER_TYPE_WORDS: Final = split_word_set("long short demo main conference workshop")
_PUBLICATION_WORDS: Final = split_word_set(
    "published presented appeared appearing appear accepted papers paper articles article "
    "publications work"
)
_PUBLISHED_WORDS: Final = split_word_set("published presented appeared appearing appear accepted")
_PREPOSITIONS: Final = frozenset({"at", "in", "from"})
# Phrases before a name that exclude it. "Apart" is followed by "from", which is a preposition.
_NEGATIONS: Final = [
    phrase.split()
    for phrase in (
        "other than", "except for", "outside of", "anything but", "anywhere but", "everything but",
        "not", "except", "excluding", "without", "never", "outside", "apart",
    )
]  # fmt: skip
# A name before one of these words belongs to a topic: "CoNLL 2003 shared task".
_TOPIC_WORDS: Final = split_word_set(
    "task tasks shared dataset datasets data corpus corpora benchmark benchmarks test dev news "
    "systems system challenge style"
)
_LEAD_IN_WORDS: Final = split_word_set(
    "published presented appeared appearing accepted proceedings the of that which was were is "
    "are to appear those"
)


@dataclass(frozen=True, slots=True)
class _NameMatch:
    values: tuple[str, ...]
    year: int | None
    first: int  # index of its first word
    end: int  # index of the word after the name and its year


class _NameParser:
    def __init__(self, text: str, field: str, year_field: str | None, names: NameLookup) -> None:
        self.text = text
        self.field = field
        self.year_field = year_field
        self.names = names
        self.words = split_words(text)
        self.folded = [word.folded for word in self.words]
        self.is_lower_case = not any(word.is_capitalised for word in self.words)
        self.is_title_case = is_title_case(self.words)
        self.problems: list[NameProblem] = []

    def parse(self) -> list[Clause]:
        clauses: list[Clause] = []
        number = 0
        while number < len(self.words):
            listed = self._read_list(number)
            if listed:
                if clause := self._read_clause(listed):
                    clauses.append(clause)
                number = listed[-1].end
                continue
            self._note_unknown(number)
            number += 1
        return clauses

    # --- Names and lists of them -------------------------------------------------------------

    def _read_list(self, first: int) -> list[_NameMatch]:
        names: list[_NameMatch] = []
        name = self._read_name(first)
        while name is not None:
            names.append(name)
            following = self._skip_conjunction(name.end)
            name = None if following is None else self._read_name(following)
        return names

    def _read_name(self, first: int) -> _NameMatch | None:
        found = self.names.find(self.folded, first)
        if found is None or not self._is_standalone(first, first + found.length):
            return None
        after = first + found.length
        year = self._read_year(after)
        return _NameMatch(found.values, year, first, after + (year is not None))

    def _read_year(self, number: int) -> int | None:
        """The year of "ACL 2020", "ACL-2020" and "ACL'20"."""
        if number >= len(self.words) or self.year_field is None:
            return None
        digits, gap = self.words[number].text, self._get_gap(number)
        if not digits.isascii() or not digits.isdigit():
            return None
        if len(digits) == 4 and gap in {" ", "-", "–"} and "1500" <= digits < "2100":
            return int(digits)
        if len(digits) == 2 and gap.strip() in {"'", "’"}:
            return int(("19" if digits >= "50" else "20") + digits)
        return None

    def _skip_conjunction(self, number: int) -> int | None:
        """Index of the word after a comma, "and" or "or"; None if there is none."""
        if number >= len(self.words):
            return None
        gap = self._get_gap(number)
        if gap.strip() in {",", "/", "&", "-", "+"}:
            number += self.folded[number] in {"and", "or"}
        elif not gap.strip() and self.folded[number] in {"and", "or"}:
            number += 1
        else:
            return None
        while number < len(self.words) and self.folded[number] in {"at", "in", "the"}:
            number += 1
        return number if number < len(self.words) else None

    # --- Words around names ------------------------------------------------------------------

    def _read_clause(self, listed: list[_NameMatch]) -> Clause | None:
        first, after = listed[0].first, listed[-1].end
        if (
            after < len(self.words)
            and self.folded[after] in _TOPIC_WORDS
            and self._is_adjacent(after)
        ):
            return None
        preposition = self._find_preposition(first)
        papers = self._find_paper_word(after)
        if not self._is_venue(listed, preposition, has_papers=papers is not None):
            return None
        start, excluded = self._find_start(first)
        end = self.words[after - 1].end
        self._note_unknown_alternative(after, preposition)
        return Clause(start, end, self._make_filter(listed), excluded)

    def _find_preposition(self, first: int) -> str:
        """``at``, ``in``, ``not`` … right before the name; empty if there is none."""
        before = first - 1
        while before >= 0 and self.folded[before] == "the" and self._is_adjacent(before + 1):
            before -= 1
        if before < 0 or not self._is_adjacent(before + 1):
            return ""
        word = self.folded[before]
        if word == "of" and before > 0 and self.folded[before - 1] == "proceedings":
            return "at"
        if word in _PREPOSITIONS:
            return word
        return "not" if self._find_negation_start(before) is not None else ""

    def _find_paper_word(self, after: int) -> int | None:
        """Index of the word ``papers`` after a name, also after a paper type such as "long"."""
        for number in range(after, min(after + 2, len(self.words))):
            if not self._is_adjacent(number):
                return None
            if self.folded[number] in _PAPER_WORDS:
                return number
            if self.folded[number] not in _PAPER_TYPE_WORDS:
                return None
        return None

    def _is_venue(self, listed: list[_NameMatch], preposition: str, *, has_papers: bool) -> bool:
        """Whether the words around show that the name is a venue. A lower-case name, which may be
        an ordinary word, counts only if the whole question is in lower case."""
        if not preposition and not has_papers:
            return False
        first = listed[0]
        words = self.words[first.first : first.end - (first.year is not None)]
        has_year = any(name.year is not None for name in listed)
        if len(words) > 2 or any(word.is_acronym for word in words):
            return has_year or not self.is_title_case or preposition == "at"
        if preposition == "at":
            return self.is_lower_case or words[0].is_capitalised
        is_declared = not self.names.declared_values.isdisjoint(first.values)
        if self.is_lower_case and (has_papers or preposition == "not"):
            return has_year or is_declared
        return words[0].is_capitalised and has_year

    def _find_start(self, name_start: int) -> tuple[int, bool]:
        """Index in the text where the words that introduce the name begin, and whether they negate
        it."""
        start = name_start
        is_led = False
        while (
            start > 0
            and self._is_adjacent(start)
            and (
                self.folded[start - 1] in _PREPOSITIONS or self.folded[start - 1] in _LEAD_IN_WORDS
            )
        ):
            start -= 1
            is_led = True
        while is_led and start < name_start and self.folded[start] in {"of", "to", "is", "are"}:
            start += 1  # the word belongs to the topic, not to the name
        before = start - 1
        negation = self._find_negation_start(before)
        if negation is None and before >= 1 and self.folded[before] in _PAPER_WORDS:
            negation = self._find_negation_start(before - 1)  # such as "excluding papers from ACL"
        if negation is None:
            return self.words[start].start, False
        if negation > 0 and self.folded[negation - 1] in {"but", "did", "does", "were", "was"}:
            negation -= 1
        if negation > 0 and self.folded[negation - 1] in {"that", "which"}:
            negation -= 1
        return self.words[negation].start, True

    def _find_negation_start(self, last: int) -> int | None:
        """Index of the first word of the negation that ends with this word."""
        for phrase in _NEGATIONS:
            first = last - len(phrase) + 1
            if first >= 0 and self.folded[first : last + 1] == phrase:
                return first
        return None

    def _make_filter(self, listed: list[_NameMatch]) -> dict[str, Any]:
        """Filter for a list of names. If only the last name has a year, it applies to all."""
        years = {name.year for name in listed[:-1]}
        if years <= {None}:
            values = list(dict.fromkeys(value for name in listed for value in name.values))
            return join_filters(
                [{self.field: unwrap_single(values)}, self._make_year_filter(listed[-1].year)]
            )
        alternatives = [
            join_filters(
                [{self.field: unwrap_single(name.values)}, self._make_year_filter(name.year)]
            )
            for name in listed
        ]
        return {"any_of": alternatives}

    def _make_year_filter(self, year: int | None) -> dict[str, Any]:
        return {} if year is None or self.year_field is None else {self.year_field: year}

    # --- Unknown names -----------------------------------------------------------------------

    def _note_unknown_alternative(self, after: int, preposition: str) -> None:
        """Add a problem for the second name in "at ACL or ICML" if the index has no such name."""
        following = self._skip_conjunction(after)
        if preposition == "at" and following is not None and self.words[following].is_acronym:
            word = self.words[following]
            self.problems.append(UnknownName(word.start, word.end, word.text))

    def _note_unknown(self, number: int) -> None:
        """Add a problem for an unknown venue: ``published in Nature``, ``papers at ICML``."""
        is_placed = self.folded[number] in {"at", "in"} and self._is_adjacent(number)
        if self.is_title_case or not is_placed:
            return
        first = number + 1
        while first < len(self.words) and self.folded[first] == "the":
            first += 1
        after = self._find_capitals_end(first)
        if after == first or self.names.find(self.folded, first):
            return
        word = self.words[first]
        if (
            word.folded in STOP_WORD_LANGUAGES.values()
            or word.folded in MONTHS
            or word.text.isdigit()
        ):
            return
        if self._is_unknown_venue(number, first, after):
            end = self.words[after - 1].end
            problem = UnknownName(self.words[number].start, end, self.text[word.start : end])
            self.problems.append(problem)

    def _is_unknown_venue(self, number: int, first: int, after: int) -> bool:
        """Whether the words around show that the name is a venue. ``papers in Arabic`` and
        ``attention at BERT's layers`` name none."""
        lead, is_acronym = self.folded[number - 1], self.words[first].is_acronym
        if lead in _PUBLICATION_WORDS:
            return is_acronym or lead in _PUBLISHED_WORDS or self.folded[number] == "at"
        ends_here = after == len(self.words) or (
            not self._is_adjacent(after) or self.folded[after] in load_stop_words("en")
        )
        return self.folded[number] == "at" and is_acronym and ends_here

    def _find_capitals_end(self, first: int) -> int:
        after = first
        while after < len(self.words) and self.words[after].is_capitalised:
            if after > first and not self._is_adjacent(after):
                break
            after += 1
        return after

    # --- Adjacent words ----------------------------------------------------------------------

    def _get_gap(self, number: int) -> str:
        """The text between the previous word and this one."""
        return self.text[self.words[number - 1].end : self.words[number].start]

    def _is_adjacent(self, number: int) -> bool:
        return number > 0 and not self._get_gap(number).strip()

    def _is_standalone(self, first: int, after: int) -> bool:
        """Whether the words are one complete name. A hyphen on either side makes them part of
        another word, unless a year or another name follows it."""
        gaps = [self._get_gap(number) for number in range(first + 1, after)]
        if any(gap.strip(" -–&.,'’*") for gap in gaps):
            return False
        start, end = self.words[first].start, self.words[after - 1].end
        if start > 0 and self.text[start - 1] in f"-_{MASK_CHAR}{PARSED_CHAR}":
            before = first - 1  # may be the first half of a joint name: ACL-IJCNLP
            return before >= 0 and self.names.find(self.folded, before) is not None
        if end < len(self.text) and self.text[end] in "-_":
            year = self._read_year(after)
            joint = self._skip_conjunction(after)
            another = None if joint is None else self.names.find(self.folded, joint)
            return year is not None or another is not None
        return True


def find_name_clauses(
    text: str, field: str, names: NameLookup, *, year_field: str | None = None
) -> tuple[list[Clause], list[NameProblem]]:
    """Clauses that name a venue, and a problem for each venue that is unknown. A name without a
    preposition or "papers" is a topic: "CoNLL 2003 named entities" can appear anywhere."""
    parser = _NameParser(text, field, year_field, names)
    return parser.parse(), parser.problems
