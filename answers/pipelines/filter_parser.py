"""Pipeline component that reads filters out of a question and refuses irrelevant questions."""

import re
from dataclasses import dataclass
from typing import Any, Final

from django.utils import timezone
from haystack import component

from access.grants import EVERYTHING, Grant
from answers.asking import Refusal
from answers.pipelines.relevance_gate import make_refusal
from answers.pipelines.run_async import add_run_async
from answers.questions.clauses import ParsedQuestion, join_filters
from answers.questions.english.rules import find_identifier_spans, get_year_field, parse_question
from answers.questions.llm_filters import ModelReading, add_model_filters, request_model_filters
from answers.questions.values import (
    UNKNOWN_NAME_CACHE_SECONDS,
    VALUES_CACHE_SECONDS,
    get_value_lookups,
)
from answers.relevance import RelevanceTest
from core.exceptions import InvalidInput
from indexing.spec import IndexSpec
from indexing.stores import Match
from language_models.exceptions import LanguageModelError
from language_models.llm import is_configured
from language_models.prompts import read_prompt_template
from retrieval.filters import parse_filter
from retrieval.relevance import Relevance
from retrieval.search.targets import Target, find_builds, make_targets
from retrieval.visible_points import VisiblePoints
from text.languages import load_stop_word_lists
from text.question_languages import is_in_languages

NOT_ENGLISH_NOTE: Final = (
    "Without a language model, filters are read from questions in English only; the whole question "
    "is searched for instead."
)
NUMBER_LIKE_A_YEAR: Final = re.compile(r"(?<![\w.-])(?:19|20)\d\d(?![\w-])")


@component
@add_run_async
@dataclass(eq=False, repr=False)
class FilterParser:
    """Read filters out of a question for the spec's fields with ``said_as``: years, persons,
    names, marks. A filter that cannot be applied gets a note and stays in the query.

    Rules for English apply first. If a language model is configured and ``uses_model`` is on, the
    model finds what the rules missed, such as other wordings and languages. Its filters are kept
    only if the words of the question support them. If the model does not respond within
    ``patience_seconds``, only the rules apply, and a note says so.

    For an irrelevant question the only output is ``refusal``, so no later component runs. A
    question is irrelevant if the language model says so. If no model was asked,
    ``min_similarity``, ``languages`` and ``embedding_model`` decide as in ``RelevanceGate``;
    ``min_similarity`` 0 refuses nothing. A question that consists of filters, names a document or
    is an exact title is always relevant, and so is any question to an empty index.
    """

    min_similarity: float = 0.0
    uses_model: bool = True
    model: str = ""
    prompt: str = "filters"
    patience_seconds: float = 8.0
    languages: list[str] | None = None
    embedding_model: str = ""

    def __post_init__(self) -> None:
        read_prompt_template(self.prompt)  # raises if there is no such prompt
        languages = tuple(self.languages or ())
        self.test = RelevanceTest(self.min_similarity, languages, self.embedding_model)

    def warm_up(self) -> None:
        """Load the stop words of all languages."""
        load_stop_word_lists()

    @component.output_types(
        query=str,
        semantic_query=str,
        filter=dict[str, Any] | None,
        parsed=dict[str, Any],
        notes=list[str],
        relevant=bool | None,
        refusal=Refusal,
    )
    def run(
        self,
        index: str,
        query: str,
        filter: dict[str, Any] | None = None,
        grant: Grant = EVERYTHING,
    ) -> dict[str, Any]:
        """Return the given ``filter`` combined with the filters read from the question, which are
        also in ``parsed``. ``semantic_query`` is what they leave of the question."""
        build = find_builds([index], grant)[index]
        if build is None:
            return {**_leave_whole(query, filter), "notes": [], "relevant": None}
        spec = build.spec
        parse_filter(filter, spec)
        [target] = make_targets([build], spec.kinds[:1])
        model_reading, model_notes = self._request_model_filters(query, target)
        reading = self._parse(query, target, model_reading)
        relevance = self._judge(query, reading, model_reading, target)
        if relevance.is_relevant is False:
            return {"refusal": make_refusal(spec, relevance if model_reading is None else None)}
        test_notes = [relevance.untested] if relevance.untested else []
        notes = [*model_notes, *reading.notes, *test_notes]
        if model_reading is None and not reading.filter and _has_unread_year(query, spec):
            notes.insert(len(model_notes), NOT_ENGLISH_NOTE)
        joined = join_filters([filter or {}, reading.filter])
        try:
            parse_filter(joined, spec)
        except InvalidInput as error:  # the combined filter exceeds the limits of a filter
            notes.append(f"No filter of the question is used: {error.detail}")
            found = _leave_whole(query, filter)
        else:
            found = {
                "query": reading.query,
                "semantic_query": reading.remainder,
                "filter": joined or None,
                "parsed": reading.filter,
            }
        return {**found, "notes": notes, "relevant": relevance.is_relevant}

    def _parse(
        self, query: str, target: Target, model_reading: ModelReading | None
    ) -> ParsedQuestion:
        points, today = VisiblePoints(target.grant), timezone.localdate()
        # A name that the cached values lack may be newer than they are.
        for max_age_seconds in (VALUES_CACHE_SECONDS, UNKNOWN_NAME_CACHE_SECONDS):
            values = get_value_lookups(
                target.spec, target.collection, points, max_age_seconds=max_age_seconds
            )
            collector = parse_question(query, target.spec, values, today)
            if model_reading is not None:
                add_model_filters(collector, model_reading.filters, target.spec, values, today)
            if not collector.has_unknown_name:
                break
        return collector.make_parsed_question()

    def _request_model_filters(
        self, query: str, target: Target
    ) -> tuple[ModelReading | None, list[str]]:
        if not self.uses_model or not is_configured():
            return None, []
        values = get_value_lookups(target.spec, target.collection, VisiblePoints(target.grant))
        try:
            model_reading = request_model_filters(
                query,
                target.spec,
                values,
                timezone.localdate(),
                model=self.model,
                prompt=self.prompt,
                patience_seconds=self.patience_seconds,
            )
        except LanguageModelError:
            return None, ["The language model did not answer; rules alone have read the question."]
        return model_reading, []

    def _judge(
        self, query: str, parsed: ParsedQuestion, model_reading: ModelReading | None, target: Target
    ) -> Relevance:
        if not parsed.topic or find_identifier_spans(query, target.spec):
            return Relevance(True)
        if model_reading is None:
            return self.test.judge(target, parsed.topic)
        return Relevance(model_reading.is_relevant or _is_artifact_title(query, target))


def _leave_whole(query: str, filter: dict[str, Any] | None) -> dict[str, Any]:
    """The outputs for a question from which no filter is taken."""
    return {"query": query, "semantic_query": query, "filter": filter, "parsed": {}}


def _has_unread_year(query: str, spec: IndexSpec) -> bool:
    """Whether a question in another language than English seems to name a year to filter by."""
    return (
        get_year_field(spec) is not None
        and NUMBER_LIKE_A_YEAR.search(query) is not None
        and not is_in_languages(query, ["en"])
    )


def _is_artifact_title(query: str, target: Target) -> bool:
    points = VisiblePoints(target.grant)
    return points.count(target.collection, Match("artifact_title", [query.strip()])) > 0
