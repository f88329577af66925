"""What a language model reads out of a question, held against the question itself.

A filter counts only where the words it is said to rest on stand in the question and name its
values: nothing a model makes up, or is talked into, becomes a filter.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from pydantic import BaseModel, Field

from indexing.spec import IndexSpec
from retrieval.questions.clauses import Clause, one_or_many
from retrieval.questions.english.marks import MOST_MARKS
from retrieval.questions.english.people import MOST_NAMESAKES
from retrieval.questions.english.rules import Findings, is_foreign, note_unknown
from retrieval.questions.values import Names, Values
from retrieval.questions.words import Span, fold_words, split_words, word_set
from summaries.llm import get_language_model
from summaries.prompts import render_prompt

MAX_FILTERS: Final = 12  # of one question
MAX_TOKENS: Final = 800  # of an answer
MOST_EXAMPLES: Final = 40  # values of a field that the model is shown

_REFUSALS: Final = word_set(
    "not no except excluding exclude without but other never nor outside apart besides t"
)
_RELATIVE: Final = re.compile(
    r"\d|\b(?:last|past|previous|this|recent|decades?|years?|century)\b", re.IGNORECASE
)
_PRIZES: Final = frozenset({"award", "awards", "prize", "prizes", "winning", "winner", "medal"})


class SaidFilter(BaseModel):
    """One filter of a question."""

    field: str
    words: str = Field(description="The words of the question that say it, to the letter.")
    is_excluded: bool = False
    values: list[str] = Field([], description="Persons, names, marks; or years that are listed.")
    is_every: bool = Field(False, description="Whether all values must hold and not just one.")
    first_year: int | None = None
    last_year: int | None = None


class QuestionReading(BaseModel):
    is_relevant: bool = True
    filters: list[SaidFilter] = []


def ask_model(
    question: str,
    spec: IndexSpec,
    values: Values,
    today: date,
    *,
    model: str,
    prompt: str,
    patience_seconds: float,
) -> QuestionReading:
    """What the model makes of the question; nothing of it is checked yet.

    Raises:
        LanguageModelError: by kind, as ``LanguageModel.complete``.
        InvalidSpec: there is no such prompt.
    """
    fields = [
        {
            "name": name,
            "said_as": about.said_as,
            "description": about.description,
            "examples": _examples(name, about.said_as, values),
        }
        for name, about in spec.metadata.items()
        if about.said_as
    ]
    rendered = render_prompt(prompt, question, index=spec, fields=fields, today=today.isoformat())
    asked = get_language_model(model)
    answer = asked.complete(
        rendered.system,
        rendered.user,
        QuestionReading,
        max_tokens=MAX_TOKENS,
        patience_seconds=patience_seconds,
    )
    return answer.value


def _examples(name: str, said_as: str, values: Values) -> list[str]:
    if said_as == "name":
        return values.names(name).values[:MOST_EXAMPLES]
    return values.marks(name).values[:MOST_EXAMPLES] if said_as == "mark" else []


def take_filters(
    findings: Findings, filters: Sequence[SaidFilter], spec: IndexSpec, values: Values, today: date
) -> None:
    """Add what the model read and the rules did not; what cannot be, is noted."""
    foreign = is_foreign(findings.question)
    if len(filters) > MAX_FILTERS:
        findings.notes.append(f"Only the first {MAX_FILTERS} filters were looked at.")
    for said in filters[:MAX_FILTERS]:
        span = _find_words(findings, said.words)
        if span is None:
            findings.notes.append(_note_made_up(said, "the question does not say so"))
            continue
        if not findings.is_free(*span):
            continue  # read by the rules, quoted, or the name of a document
        about = spec.metadata.get(said.field)
        if about is None or about.said_as is None:
            findings.notes.append(_note_made_up(said, "there is no such filter here"))
            continue
        condition = _READERS[about.said_as](findings, said, span, values, today)
        if condition is None:
            continue
        refused = _is_refused(findings.question, span[0])
        if said.is_excluded and not (foreign or refused or _has_refusal(findings.question)):
            findings.notes.append(_note_made_up(said, "the question refuses nothing"))
            continue
        findings.take([Clause(*span, condition, said.is_excluded or refused)])


def _note_made_up(said: SaidFilter, why: str) -> str:
    value = ", ".join(said.values)[:60] or f"{said.first_year or ''}–{said.last_year or ''}"
    return (
        f"The language model read {said.field[:40]}: {value} out of “{said.words[:60]}”; {why}. "
        "It was left out."
    )


# --- Whether the question says it ------------------------------------------------------------


def _find_words(findings: Findings, words: str) -> Span | None:
    """Where they stand in the question, in any case and spacing; free places first."""
    parts = [re.escape(part) for part in words.split()]
    if not parts:
        return None
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)", re.IGNORECASE)
    spans = [found.span() for found in pattern.finditer(findings.question)]
    return next((span for span in spans if findings.is_free(*span)), spans[0] if spans else None)


def _is_refused(question: str, start: int) -> bool:
    before = split_words(question[:start])
    return bool(before) and before[-1].folded in {"not", "except", "excluding", "without"}


def _has_refusal(question: str) -> bool:
    return any(word in _REFUSALS for word in fold_words(question))


def _is_said(value: str, words: Sequence[str]) -> bool:
    """Whether each word of the value stands among these, as it is or by its initial."""
    return all(
        any(part == word or (len(word) == 1 and part.startswith(word)) for word in words)
        for part in fold_words(value)
    )


# --- By the manner of speaking ---------------------------------------------------------------


def _read_years(
    findings: Findings, said: SaidFilter, span: Span, values: Values, today: date
) -> dict[str, Any] | None:
    text = findings.question[slice(*span)]
    listed = [int(value) for value in said.values if re.fullmatch(r"\d{4}", value)]
    bounds = [year for year in (said.first_year, said.last_year) if year is not None]
    numbers = {int(number) for number in re.findall(r"\d{4}", text)}
    for decade in re.findall(r"(\d{3}0)['’]?s\b", text):
        numbers |= set(range(int(decade), int(decade) + 10))
    if not numbers and _RELATIVE.search(text):
        numbers = set(range(today.year - 100, today.year + 1))
    # "After 2012" begins a year later than it says, "before 2012" ends a year earlier.
    near = {number + step for number in numbers for step in (-1, 0, 1)}
    if not (listed or bounds) or not set(listed) <= numbers or not set(bounds) <= near:
        findings.notes.append(_note_made_up(said, "its words say no such years"))
        return None
    if listed:
        return {said.field: one_or_many(listed)}
    if said.first_year == said.last_year:
        return {said.field: said.first_year}
    limits = {"gte": said.first_year, "lte": said.last_year}
    return {said.field: {name: year for name, year in limits.items() if year is not None}}


def _read_people(
    findings: Findings, said: SaidFilter, span: Span, values: Values, today: date
) -> dict[str, Any] | None:
    words = fold_words(findings.question[slice(*span)])
    people = values.people(said.field)
    found = []
    for value in said.values:
        if not _is_said(value, words):
            findings.notes.append(_note_made_up(said, "its words do not name them"))
            return None
        known = people.find(fold_words(value))[:MOST_NAMESAKES]
        if not known:
            _note_unknown(findings, span, value, said.field)
            return None
        found.append(known)
    return _combine(findings, said, found)


def _read_names(
    findings: Findings, said: SaidFilter, span: Span, values: Values, today: date
) -> dict[str, Any] | None:
    words = fold_words(findings.question[slice(*span)])
    names = values.names(said.field)
    named = _names_in(names, words)
    found = []
    for value in said.values:
        folded = fold_words(value)
        resolved = names.find(folded) if folded else None
        if resolved is not None and set(resolved.values) & named:
            found.append([each for each in resolved.values if each in named])
        elif resolved is None and _is_said(value, words):
            _note_unknown(findings, span, value, said.field)
            return None
        else:
            findings.notes.append(_note_made_up(said, "its words do not name them"))
            return None
    if not said.is_every:
        found = [list(dict.fromkeys(value for those in found for value in those))] if found else []
    return _combine(findings, said, found)


def _names_in(names: Names, words: Sequence[str]) -> set[str]:
    found = (names.find(words, start) for start in range(len(words)))
    return {value for each in found if each is not None for value in each.values}


def _read_marks(
    findings: Findings, said: SaidFilter, span: Span, values: Values, today: date
) -> dict[str, Any] | None:
    words = fold_words(findings.question[slice(*span)])
    marks = values.marks(said.field)
    if not said.values and _PRIZES & set(words):
        found = marks.values
    else:
        found = []
        for value in said.values:
            wanted = [word for word in fold_words(value) if word in words]
            if not wanted:
                findings.notes.append(_note_made_up(said, "its words do not name them"))
                return None
            found += marks.find(wanted)
    if not found:
        _note_unknown(findings, span, ", ".join(said.values), said.field)
        return None
    return {said.field: one_or_many(list(dict.fromkeys(found))[:MOST_MARKS])}


_READERS: Final = {
    "year": _read_years,
    "person": _read_people,
    "name": _read_names,
    "mark": _read_marks,
}


def _combine(
    findings: Findings, said: SaidFilter, found: Sequence[Sequence[str]]
) -> dict[str, Any] | None:
    """Each of ``found`` holds those that one value may be."""
    if not found:
        findings.notes.append(_note_made_up(said, "it names nothing"))
        return None
    if said.is_every and not said.is_excluded and len(found) > 1:
        return {"all_of": [{said.field: one_or_many(each)} for each in found]}
    return {said.field: one_or_many([value for each in found for value in each])}


def _note_unknown(findings: Findings, span: Span, value: str, field: str) -> None:
    findings.has_unknown = True
    findings.unhonoured.append(span)
    findings.notes.append(note_unknown(findings.said(*span), value, field))
