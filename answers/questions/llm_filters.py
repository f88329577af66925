"""Read filters out of a question with a language model, and check them against the question.

A filter is accepted only if the question contains the words that the model cites and these words
name its values, so neither a hallucination nor a prompt injection becomes a filter.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from answers.questions.clauses import Clause, unwrap_single
from answers.questions.english.names import MAX_NAMESAKES
from answers.questions.english.rules import ClauseCollector
from answers.questions.values import ValueLookups
from indexing.spec import IndexSpec
from language_models.llm import get_language_model
from language_models.prompts import render_prompt
from language_models.response_schemas import max_chars, max_items
from text.question_languages import is_in_other_language
from text.words import Span, fold_words, split_word_set

MAX_FILTERS: Final = 12  # per question
MAX_TOKENS: Final = 800  # of a response
MAX_EXAMPLES: Final = 40  # values per field shown to the model

_NEGATIONS: Final = split_word_set(
    "not no except excluding exclude without but other never nor outside apart besides t"
)
_TIME_WORDS: Final = re.compile(
    r"\d|\b(?:last|past|previous|this|recent|decades?|years?|century)\b", re.IGNORECASE
)
_AWARD_WORDS: Final = frozenset(
    {"award", "awards", "prize", "prizes", "winning", "winner", "medal"}
)


class ModelFilter(BaseModel):
    """One filter of a question."""

    field: Annotated[str, max_chars(200)]
    words: Annotated[str, max_chars(500)] = Field(
        description="The words of the question that say it, to the letter."
    )
    is_excluded: bool = False
    values: Annotated[list[Annotated[str, max_chars(200)]], max_items(50)] = Field(
        [], description="Persons, names, marks; or years that are listed."
    )
    is_every: bool = Field(False, description="Whether all values must hold and not just one.")
    first_year: int | None = None
    last_year: int | None = None


class ModelReading(BaseModel):
    is_relevant: bool = True
    filters: Annotated[list[ModelFilter], max_items(MAX_FILTERS)] = []


class _Rejected(Exception):
    """The filter is left out; the message says why."""


class _UnknownValue(Exception):
    """No document has this value."""


def request_model_filters(
    question: str,
    spec: IndexSpec,
    values: ValueLookups,
    today: date,
    *,
    model: str,
    prompt: str,
    patience_seconds: float,
) -> ModelReading:
    """Ask the language model for a question's filters and relevance; the result is unchecked.
    Raises ``LanguageModelError`` as ``LanguageModel.complete``."""
    fields = [
        {
            "name": name,
            "said_as": field_spec.said_as,
            "description": field_spec.description,
            "examples": _list_examples(name, field_spec.said_as, values),
        }
        for name, field_spec in spec.metadata.items()
        if field_spec.said_as
    ]
    rendered = render_prompt(prompt, question, index=spec, fields=fields, today=today.isoformat())
    answer = get_language_model(model).complete(
        rendered.system,
        rendered.user,
        ModelReading,
        max_tokens=MAX_TOKENS,
        patience_seconds=patience_seconds,
    )
    return answer.value


def _list_examples(field_name: str, said_as: str, values: ValueLookups) -> list[str]:
    if said_as == "name":
        return values.names(field_name).values[:MAX_EXAMPLES]
    return values.marks(field_name).values[:MAX_EXAMPLES] if said_as == "mark" else []


def add_model_filters(
    collector: ClauseCollector,
    filters: Sequence[ModelFilter],
    spec: IndexSpec,
    values: ValueLookups,
    today: date,
) -> None:
    """Add the model's filters that the rules missed; add a note for each one rejected."""
    if len(filters) > MAX_FILTERS:
        collector.notes.append(f"Only the first {MAX_FILTERS} filters were looked at.")
    for model_filter in filters[:MAX_FILTERS]:
        try:
            _add_model_filter(collector, model_filter, spec, values, today)
        except _Rejected as rejected:
            collector.notes.append(_make_rejection_note(model_filter, str(rejected)))


def _add_model_filter(
    collector: ClauseCollector,
    model_filter: ModelFilter,
    spec: IndexSpec,
    values: ValueLookups,
    today: date,
) -> None:
    span = _locate_words(collector, model_filter.words)
    if span is None:
        raise _Rejected("the question does not contain these words")
    if not collector.is_unparsed(*span):
        return  # already parsed by rules, quoted, or a document identifier
    field_spec = spec.metadata.get(model_filter.field)
    if field_spec is None or field_spec.said_as is None:
        raise _Rejected("the index has no such filter")
    text = collector.question[slice(*span)]
    try:
        condition = _CONDITION_READERS[field_spec.said_as](model_filter, text, values, today)
    except _UnknownValue as unknown:
        collector.add_unknown(span, str(unknown), model_filter.field)
        return
    before = fold_words(collector.question[: span[0]])
    is_negated = bool(before) and before[-1] in {"not", "except", "excluding", "without"}
    if (
        model_filter.is_excluded
        and not is_negated
        and _NEGATIONS.isdisjoint(fold_words(collector.question))
        and not is_in_other_language(collector.question, ["en"])
    ):
        raise _Rejected("the question excludes nothing")
    collector.add_clauses([Clause(*span, condition, model_filter.is_excluded or is_negated)])


def _make_rejection_note(model_filter: ModelFilter, reason: str) -> str:
    value = (
        ", ".join(model_filter.values)[:60]
        or f"{model_filter.first_year or ''}–{model_filter.last_year or ''}"
    )
    return (
        f"The language model read the filter {model_filter.field[:40]}: {value} "
        f"from “{model_filter.words[:60]}”. It was left out: {reason}."
    )


# --- Checks against the question -------------------------------------------------------------


def _locate_words(collector: ClauseCollector, words: str) -> Span | None:
    """Span of these words in the question, ignoring case and spacing; unused spans first."""
    parts = [re.escape(part) for part in words.split()]
    if not parts:
        return None
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)", re.IGNORECASE)
    spans = [found.span() for found in pattern.finditer(collector.question)]
    return next(
        (span for span in spans if collector.is_unparsed(*span)), spans[0] if spans else None
    )


def _is_named_by(value: str, words: Sequence[str]) -> bool:
    """Whether each word of the value is among these words, in full or as an initial."""
    return all(
        any(part == word or (len(word) == 1 and part.startswith(word)) for word in words)
        for part in fold_words(value)
    )


# --- One reader for each value of said_as ----------------------------------------------------


def _read_years(
    model_filter: ModelFilter, text: str, values: ValueLookups, today: date
) -> dict[str, Any]:
    listed = [int(value) for value in model_filter.values if re.fullmatch(r"\d{4}", value)]
    bounds = [
        year for year in (model_filter.first_year, model_filter.last_year) if year is not None
    ]
    mentioned_years = {int(number) for number in re.findall(r"\d{4}", text)}
    for decade in re.findall(r"(\d{3}0)['’]?s\b", text):
        mentioned_years |= set(range(int(decade), int(decade) + 10))
    if not mentioned_years and _TIME_WORDS.search(text):
        mentioned_years = set(range(today.year - 100, today.year + 1))
    # "After 2012" starts in 2013, "before 2012" ends in 2011.
    allowed_bounds = {number + step for number in mentioned_years for step in (-1, 0, 1)}
    if (
        not (listed or bounds)
        or not set(listed) <= mentioned_years
        or not set(bounds) <= allowed_bounds
    ):
        raise _Rejected("these words name no such years")
    if listed:
        return {model_filter.field: unwrap_single(listed)}
    if model_filter.first_year == model_filter.last_year:
        return {model_filter.field: model_filter.first_year}
    limits = {"gte": model_filter.first_year, "lte": model_filter.last_year}
    return {model_filter.field: {name: year for name, year in limits.items() if year is not None}}


def _read_people(
    model_filter: ModelFilter, text: str, values: ValueLookups, today: date
) -> dict[str, Any]:
    words = fold_words(text)
    people = values.people(model_filter.field)
    found = []
    for value in model_filter.values:
        if not _is_named_by(value, words):
            raise _Rejected("these words do not name its values")
        known = people.find(fold_words(value))
        if not known:
            raise _UnknownValue(value)
        if len(known) > MAX_NAMESAKES:
            raise _Rejected("too many people have this name")
        found.append(known)
    return _make_condition(model_filter, found)


def _read_names(
    model_filter: ModelFilter, text: str, values: ValueLookups, today: date
) -> dict[str, Any]:
    words = fold_words(text)
    names = values.names(model_filter.field)
    matches = (names.find(words, start) for start in range(len(words)))
    named = {value for match in matches if match is not None for value in match.values}
    found = []
    for value in model_filter.values:
        folded = fold_words(value)
        resolved = names.find(folded) if folded else None
        if resolved is not None and set(resolved.values) & named:
            found.append([each for each in resolved.values if each in named])
        elif resolved is None and _is_named_by(value, words):
            raise _UnknownValue(value)
        else:
            raise _Rejected("these words do not name its values")
    if not model_filter.is_every:
        found = [list(dict.fromkeys(value for those in found for value in those))] if found else []
    return _make_condition(model_filter, found)


def _read_marks(
    model_filter: ModelFilter, text: str, values: ValueLookups, today: date
) -> dict[str, Any]:
    words = fold_words(text)
    marks = values.marks(model_filter.field)
    if not model_filter.values and _AWARD_WORDS & set(words):
        found = marks.values
    else:
        found = []
        for value in model_filter.values:
            wanted = [word for word in fold_words(value) if word in words]
            if not wanted:
                raise _Rejected("these words do not name its values")
            found += marks.find(wanted)
    if not found:
        raise _UnknownValue(", ".join(model_filter.values))
    return {model_filter.field: unwrap_single(list(dict.fromkeys(found)))}


_CONDITION_READERS: Final = {
    "year": _read_years,
    "person": _read_people,
    "name": _read_names,
    "mark": _read_marks,
}


def _make_condition(model_filter: ModelFilter, matches: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Combine the values found: each element of ``matches`` lists the matches of one name."""
    if not matches:
        raise _Rejected("the filter has no value")
    if model_filter.is_every and not model_filter.is_excluded and len(matches) > 1:
        return {"all_of": [{model_filter.field: unwrap_single(each)} for each in matches]}
    return {model_filter.field: unwrap_single([value for each in matches for value in each])}
