"""Parse English questions by rules. Text that no rule matches stays in the query."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Final

from indexing.spec import IndexSpec
from retrieval.languages import is_in_other_language
from retrieval.questions.clauses import Clause, ParsedQuestion, extract_topic, join_filters
from retrieval.questions.english.marks import find_mark_clauses
from retrieval.questions.english.names import (
    MAX_NAMESAKES,
    NameProblem,
    TooManyNamesakes,
    find_name_clauses,
    find_person_clauses,
)
from retrieval.questions.english.unread import (
    NO_YEAR,
    find_comparisons,
    find_unread_filters,
    make_comparison_clause,
)
from retrieval.questions.english.years import find_year_clauses, find_year_phrases
from retrieval.questions.values import ValueLookups
from retrieval.words import MASK_CHAR, PARSED_CHAR, Span, mask_spans

MAX_PARSED_CHARS: Final = 1_000  # a longer query is a text, not a sentence with filters

# What an index without a field of this kind does not know.
_MISSING_FIELDS: Final = {
    "mark": "does not say which documents won a prize",
    "name": "does not say where a document appeared",
    "person": "does not say who wrote a document",
}
_QUOTED: Final = re.compile(r"\"[^\"]+\"|“[^“”]++”|„[^„“”]++[“”]|«[^«»]++»")


@dataclass(slots=True)
class ClauseCollector:
    """Collects the clauses and notes of one question. ``unparsed_text`` is the question with
    protected and already parsed spans masked."""

    question: str
    unparsed_text: str
    clauses: list[Clause] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unapplied_spans: list[Span] = field(
        default_factory=list
    )  # filters that get a note and are not applied
    has_unknown_name: bool = False
    is_parsed: bool = False  # by the rules for English

    def add_clauses(self, clauses: Sequence[Clause]) -> None:
        self.clauses += clauses
        self.unparsed_text = mask_spans(
            self.unparsed_text, [(each.start, each.end) for each in clauses], PARSED_CHAR
        )

    def is_unparsed(self, start: int, end: int) -> bool:
        return not {MASK_CHAR, PARSED_CHAR} & set(self.unparsed_text[start:end])

    def add_unapplied(self, span: Span, why: str) -> None:
        """Add a note that these words are not applied as a filter."""
        self.unapplied_spans.append(span)
        self.notes.append(make_unapplied_note(self.get_words(*span), why))

    def get_words(self, start: int, end: int) -> str:
        return " ".join(self.question[start:end].split())

    def make_parsed_question(self) -> ParsedQuestion:
        if self.is_parsed:
            self._note_unread_filters()
        applied_spans = [(clause.start, clause.end) for clause in self.clauses]
        remainder = extract_topic(self.question, applied_spans)
        self.clauses.sort(key=lambda clause: clause.start)
        return ParsedQuestion(
            query=remainder or self.question.strip(),
            filter=join_filters(clause.condition for clause in self.clauses),
            notes=tuple(dict.fromkeys(self.notes)),
            topic=extract_topic(self.question, [*applied_spans, *self.unapplied_spans]),
            has_unknown_name=self.has_unknown_name,
        )

    def _note_unread_filters(self) -> None:
        for unread in find_unread_filters(self.unparsed_text):
            start, end = unread.span
            if not any(start < after and before < end for before, after in self.unapplied_spans):
                self.add_unapplied(unread.span, unread.why)


def parse_question(
    question: str,
    spec: IndexSpec,
    values: ValueLookups,
    today: date,
    named_year: int | None = None,
) -> ClauseCollector:
    """Find the filters of a question for the spec's fields with ``said_as``.

    ``named_year``: the year of the document that the question names by its identifier. "But newer"
    means newer than that.
    """
    collector = ClauseCollector(question, question)
    if not any(field_spec.said_as for field_spec in spec.metadata.values()):
        return collector
    if len(question) > MAX_PARSED_CHARS:
        return collector
    if is_in_other_language(question, ["en"]):
        return collector
    collector.unparsed_text = mask_spans(
        question, [*find_quoted_spans(question), *find_identifier_spans(question, spec)]
    )
    for said_as in _MISSING_FIELDS:
        _read_values(collector, spec, values, said_as)
    _read_years(collector, spec, values, today)
    _read_comparisons(collector, spec, named_year)
    collector.is_parsed = True
    return collector


def find_quoted_spans(question: str) -> list[Span]:
    return [found.span() for found in _QUOTED.finditer(question)]


def find_identifier_spans(question: str, spec: IndexSpec) -> list[Span]:
    """Spans of document identifiers, by the patterns the spec declares."""
    return [
        found.span()
        for each in spec.identifiers.values()
        for found in _compile_whole_word(each.pattern).finditer(question)
    ]


@lru_cache(maxsize=256)
def _compile_whole_word(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


# --- Readers for each kind of field ----------------------------------------------------------


def find_fields_said_as(spec: IndexSpec, said_as: str) -> list[str]:
    return [name for name, field_spec in spec.metadata.items() if field_spec.said_as == said_as]


def get_year_field(spec: IndexSpec) -> str | None:
    """The field that years in a question apply to: the first with ``said_as: year``."""
    return next(iter(find_fields_said_as(spec, "year")), None)


def _read_values(
    collector: ClauseCollector, spec: IndexSpec, values: ValueLookups, said_as: str
) -> None:
    """Find the marks or names of all fields ``said_as`` this, or the people of the first."""
    fields = find_fields_said_as(spec, said_as)
    if said_as == "person":
        fields = fields[:1]  # "by" refers to one field
    unknown: list[NameProblem] | None = None
    for name in fields or [""]:
        text = collector.unparsed_text
        if said_as == "mark":
            clauses, problems = find_mark_clauses(text, name, values.marks(name))
        elif said_as == "name":
            clauses, problems = find_name_clauses(
                text, name, values.names(name), year_field=get_year_field(spec)
            )
        else:
            clauses, problems = find_person_clauses(text, name, values.people(name))
        collector.add_clauses(clauses)
        # A name is unknown only if no field knows it.
        unknown = [each for each in problems if unknown is None or each in unknown]
    missing_field = "" if fields else _MISSING_FIELDS[said_as]
    _add_problem_notes(collector, unknown or [], " or ".join(fields), missing_field)


def _read_years(
    collector: ClauseCollector, spec: IndexSpec, values: ValueLookups, today: date
) -> None:
    name = get_year_field(spec)
    if name is None:
        for said in find_year_phrases(collector.unparsed_text, today):
            collector.notes.append(
                make_unapplied_note(
                    " ".join(said.split()), "this index does not say when a document appeared"
                )
            )
        return
    names = {
        word
        for each in find_fields_said_as(spec, "name")
        for word in values.names(each).first_words
    }
    years = find_year_clauses(collector.unparsed_text, name, today, names)
    collector.add_clauses([year.clause for year in years])
    for year in years:
        if year.month:
            said = collector.get_words(year.clause.start, year.clause.end)
            collector.notes.append(
                f"Of “{said}”, only the year is used as a filter: {name} contains no months."
            )


def _read_comparisons(collector: ClauseCollector, spec: IndexSpec, named_year: int | None) -> None:
    field_name = get_year_field(spec)
    for comparison in find_comparisons(collector.unparsed_text):
        if field_name is None or named_year is None:
            collector.add_unapplied(comparison.span, NO_YEAR)
        else:
            collector.add_clauses([make_comparison_clause(comparison, field_name, named_year)])


def _add_problem_notes(
    collector: ClauseCollector,
    problems: Sequence[NameProblem],
    field_name: str,
    missing_field: str = "",
) -> None:
    for problem in problems:
        if isinstance(problem, TooManyNamesakes):
            collector.notes.append(
                f"{problem.count} {field_name} are called {problem.name}; the filter includes the "
                f"{MAX_NAMESAKES} with the most documents."
            )
        elif collector.is_unparsed(problem.start, problem.end):
            collector.unapplied_spans.append((problem.start, problem.end))
            collector.has_unknown_name = collector.has_unknown_name or not missing_field
            collector.notes.append(
                make_unknown_note(
                    collector.get_words(problem.start, problem.end),
                    problem.name,
                    field_name,
                    missing_field,
                )
            )


def make_unknown_note(phrase: str, value: str, field_name: str, missing_field: str = "") -> str:
    if missing_field:
        return make_unapplied_note(phrase, f"this index {missing_field}")
    return make_unapplied_note(phrase, f"no document has {value} in {field_name}")


def make_unapplied_note(phrase: str, why: str) -> str:
    return f"“{phrase}” is not used as a filter: {why}. The words are searched for instead."
