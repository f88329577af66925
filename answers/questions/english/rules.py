"""Parse English questions by rules. Text that no rule matches stays in the query."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from answers.questions.clauses import Clause, ParsedQuestion, extract_topic, join_filters
from answers.questions.english.names import (
    MAX_NAMESAKES,
    find_mark_clauses,
    find_name_clauses,
    find_person_clauses,
    find_unknown_names,
)
from answers.questions.english.years import find_year_clauses
from answers.questions.identifiers import find_identifiers
from answers.questions.values import ValueLookups
from indexing.spec import IndexSpec
from text.question_languages import is_in_other_language
from text.words import MASK_CHAR, PARSED_CHAR, Span, fold_words, mask_spans

MAX_PARSED_CHARS: Final = 1_000  # a longer query is a text, not a sentence with filters
_QUOTED: Final = re.compile(r"\"[^\"]+\"|“[^“”]++”|„[^„“”]++[“”]|«[^«»]++»")


@dataclass(slots=True)
class ClauseCollector:
    """Collects the clauses and notes of one question. ``unparsed_text`` is the question with
    protected and already parsed spans masked."""

    question: str
    unparsed_text: str
    clauses: list[Clause] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unapplied_spans: list[Span] = field(default_factory=list)  # filters that only get a note
    has_unknown_name: bool = False  # a name is not among the known values

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
        self.notes.append(
            f"“{self.get_words(*span)}” is not used as a filter: {why}. The words are searched for "
            "instead."
        )

    def add_unknown(self, span: Span, name: str, field_name: str) -> None:
        self.has_unknown_name = True
        self.add_unapplied(span, f"no document has {name} in {field_name}")

    def get_words(self, start: int, end: int) -> str:
        return " ".join(self.question[start:end].split())

    def make_parsed_question(self) -> ParsedQuestion:
        applied_spans = [(clause.start, clause.end) for clause in self.clauses]
        remainder = extract_topic(self.question, applied_spans)
        self.clauses.sort(key=lambda clause: clause.start)
        return ParsedQuestion(
            query=remainder or self.question.strip(),
            remainder=remainder,
            filter=join_filters(clause.condition for clause in self.clauses),
            notes=tuple(dict.fromkeys(self.notes)),
            topic=extract_topic(self.question, [*applied_spans, *self.unapplied_spans]),
        )


def parse_question(
    question: str, spec: IndexSpec, values: ValueLookups, today: date
) -> ClauseCollector:
    """Find the filters of a question for the spec's fields with ``said_as``."""
    collector = ClauseCollector(question, question)
    if (
        not any(field_spec.said_as for field_spec in spec.metadata.values())
        or len(question) > MAX_PARSED_CHARS
        or is_in_other_language(question, ["en"])
    ):
        return collector
    collector.unparsed_text = mask_spans(
        question, [*find_quoted_spans(question), *find_identifier_spans(question, spec)]
    )
    year_field = get_year_field(spec)
    for name in find_fields_said_as(spec, "person")[:1]:  # "by" refers to one field
        _read_people(collector, name, values)
    for name in find_fields_said_as(spec, "name"):
        collector.add_clauses(
            find_name_clauses(collector.unparsed_text, name, values.names(name), year_field)
        )
    for name in find_fields_said_as(spec, "mark"):
        collector.add_clauses(find_mark_clauses(collector.unparsed_text, name, values.marks(name)))
    _read_years(collector, year_field, today)
    _note_unknown_names(collector, spec, values)
    return collector


def find_quoted_spans(question: str) -> list[Span]:
    return [found.span() for found in _QUOTED.finditer(question)]


def find_identifier_spans(question: str, spec: IndexSpec) -> list[Span]:
    """Spans of document identifiers, by the patterns the spec declares."""
    found, _ = find_identifiers(spec.identifiers, question)
    return [(each.start, each.end) for each in found]


# --- Readers for each kind of field ----------------------------------------------------------


def find_fields_said_as(spec: IndexSpec, said_as: str) -> list[str]:
    return [name for name, field_spec in spec.metadata.items() if field_spec.said_as == said_as]


def get_year_field(spec: IndexSpec) -> str | None:
    """The field that years in a question apply to: the first with ``said_as: year``."""
    return next(iter(find_fields_said_as(spec, "year")), None)


def _read_people(collector: ClauseCollector, field_name: str, values: ValueLookups) -> None:
    people = values.people(field_name)
    clauses, shared = find_person_clauses(collector.unparsed_text, field_name, people)
    collector.add_clauses(clauses)
    for span in shared:
        collector.add_unapplied(span, f"more than {MAX_NAMESAKES} {field_name} have this name")


def _read_years(collector: ClauseCollector, field_name: str | None, today: date) -> None:
    clauses = find_year_clauses(collector.unparsed_text, field_name or "", today)
    if field_name is not None:
        collector.add_clauses(clauses)
        return
    for clause in clauses:
        why = "this index does not say when a document appeared"
        collector.add_unapplied((clause.start, clause.end), why)


def _note_unknown_names(collector: ClauseCollector, spec: IndexSpec, values: ValueLookups) -> None:
    for said_as, span in find_unknown_names(collector.unparsed_text):
        fields = find_fields_said_as(spec, said_as)[: 1 if said_as == "person" else None]
        name = collector.get_words(*span)
        look_up = values.people if said_as == "person" else values.names
        if fields and not any(look_up(each).find(fold_words(name)) for each in fields):
            collector.add_unknown(span, name, " or ".join(fields))
