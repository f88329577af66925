"""Reading a question by rules, for English; what they do not know, they leave in the query."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Final

from indexing.spec import IndexSpec
from retrieval.questions.clauses import Clause, Reading, find_remainder, join_filters
from retrieval.questions.english.marks import find_marks
from retrieval.questions.english.names import find_names
from retrieval.questions.english.people import MOST_NAMESAKES, Crowd, Trouble, find_people
from retrieval.questions.english.years import find_years, says_years
from retrieval.questions.values import Marks, Names, People, Values
from retrieval.questions.words import MASK, TAKEN, Span, mask, split_words
from summaries.extractive.languages import LANGUAGES, stop_words

MAX_CHARS: Final = 1_000  # a longer one is a text and no sentence with filters

_QUOTED: Final = re.compile(r"\"[^\"]+\"|“[^”]+”|„[^“”]+[“”]|«[^»]+»")


@dataclass(slots=True)
class Findings:
    """What was read out of one question so far. ``text`` is the question with all that may not
    be read, and all that was, made unreadable."""

    question: str
    text: str
    clauses: list[Clause] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unhonoured: list[Span] = field(default_factory=list)  # filters that are noted and not taken
    has_unknown: bool = False

    def take(self, clauses: Sequence[Clause]) -> None:
        self.clauses += clauses
        self.text = mask(self.text, [(each.start, each.end) for each in clauses], TAKEN)

    def is_free(self, start: int, end: int) -> bool:
        return not {MASK, TAKEN} & set(self.text[start:end])

    def said(self, start: int, end: int) -> str:
        return " ".join(self.question[start:end].split())

    def reading(self) -> Reading:
        honoured = [(clause.start, clause.end) for clause in self.clauses]
        remainder = find_remainder(self.question, honoured)
        self.clauses.sort(key=lambda clause: clause.start)
        return Reading(
            query=remainder or self.question.strip(),
            filter=join_filters(clause.condition for clause in self.clauses),
            notes=tuple(dict.fromkeys(self.notes)),
            topic=find_remainder(self.question, [*honoured, *self.unhonoured]),
            has_unknown=self.has_unknown,
        )


def read_question(question: str, spec: IndexSpec, values: Values, today: date) -> Findings:
    """The filters of a question, by the fields the spec says people speak of."""
    findings = Findings(question, question)
    if not any(about.said_as for about in spec.metadata.values()):
        return findings
    if len(question) > MAX_CHARS or is_foreign(question):
        return findings
    findings.text = mask(question, [*find_quoted(question), *find_identifiers(question, spec)])
    _read_marks(findings, spec, values)
    _read_names(findings, spec, values)
    _read_people(findings, spec, values)
    _read_years(findings, spec, values, today)
    return findings


def find_quoted(question: str) -> list[Span]:
    return [found.span() for found in _QUOTED.finditer(question)]


def find_identifiers(question: str, spec: IndexSpec) -> list[Span]:
    """Where documents are named by one of the patterns the spec declares."""
    return [
        found.span()
        for each in spec.identifiers.values()
        for found in _whole(each.pattern).finditer(question)
    ]


@lru_cache(maxsize=256)
def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


def is_foreign(question: str) -> bool:
    """Whether its function words are of another language than English."""
    hits: Counter[str] = Counter()
    for word in {word.text.lower() for word in split_words(question)}:
        those = ["en"] if word in stop_words("en") else LANGUAGES
        hits.update(language for language in those if word in stop_words(language))
    english = hits.pop("en", 0)
    return any(count >= 2 and count > english for count in hits.values())


# --- One field after the other ---------------------------------------------------------------


def fields_said_as(spec: IndexSpec, manner: str) -> list[str]:
    return [name for name, about in spec.metadata.items() if about.said_as == manner]


def year_field(spec: IndexSpec) -> str | None:
    """The one that years in a question are about: the first declared."""
    return next(iter(fields_said_as(spec, "year")), None)


def _read_marks(findings: Findings, spec: IndexSpec, values: Values) -> None:
    fields = fields_said_as(spec, "mark")
    for name in fields:
        clauses, troubles = find_marks(findings.text, name, values.marks(name))
        findings.take(clauses)
        _note(findings, troubles, name)
    if not fields:
        _, troubles = find_marks(findings.text, "", Marks(()))
        _note(findings, troubles, "", "does not say which documents won a prize")


def _read_names(findings: Findings, spec: IndexSpec, values: Values) -> None:
    fields = fields_said_as(spec, "name")
    unknown: list[Trouble] = []
    for name in fields:
        clauses, troubles = find_names(
            findings.text, name, values.names(name), year_field=year_field(spec)
        )
        findings.take(clauses)
        # What one field does not know, another may.
        unknown = troubles if name == fields[0] else [each for each in troubles if each in unknown]
    if fields:
        _note(findings, unknown, " or ".join(fields))
    else:
        _, troubles = find_names(findings.text, "", Names(()))
        _note(findings, troubles, "", "does not say where a document appeared")


def _read_people(findings: Findings, spec: IndexSpec, values: Values) -> None:
    fields = fields_said_as(spec, "person")
    for name in fields[:1]:  # "by" is said of one
        clauses, troubles = find_people(findings.text, name, values.people(name))
        findings.take(clauses)
        _note(findings, troubles, name)
    if not fields:
        _, troubles = find_people(findings.text, "", People(()))
        _note(findings, troubles, "", "does not say who wrote a document")


def _read_years(findings: Findings, spec: IndexSpec, values: Values, today: date) -> None:
    name = year_field(spec)
    if name is None:
        for said in says_years(findings.text, today):
            findings.notes.append(
                f"“{' '.join(said.split())}” is not filtered by: this index does not say when a "
                "document appeared. The words are searched for instead."
            )
        return
    names = {word for each in fields_said_as(spec, "name") for word in values.names(each).words}
    years = find_years(findings.text, name, today, names)
    findings.take([year.clause for year in years])
    for year in years:
        if year.month:
            said = findings.said(year.clause.start, year.clause.end)
            findings.notes.append(
                f"“{said}” is filtered by the year alone: {name} holds no months."
            )


def _note(findings: Findings, troubles: Sequence[Trouble], name: str, lack: str = "") -> None:
    for trouble in troubles:
        if isinstance(trouble, Crowd):
            findings.notes.append(
                f"{trouble.count} {name} are called {trouble.name}; the filter names the "
                f"{MOST_NAMESAKES} with most documents."
            )
        elif findings.is_free(trouble.start, trouble.end):
            findings.unhonoured.append((trouble.start, trouble.end))
            findings.has_unknown = findings.has_unknown or not lack
            findings.notes.append(
                note_unknown(findings.said(trouble.start, trouble.end), trouble.name, name, lack)
            )


def note_unknown(said: str, value: str, name: str, lack: str = "") -> str:
    why = f"this index {lack}" if lack else f"{name} holds no {value} here"
    return f"“{said}” is not filtered by: {why}. The words are searched for instead."
