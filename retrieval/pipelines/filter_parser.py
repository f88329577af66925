"""The filters in a question, and whether the question concerns the index at all."""

from datetime import date
from functools import partial
from typing import Any

from django.utils import timezone
from haystack import component

from core.exceptions import InvalidInput
from indexing.spec import IndexSpec
from indexing.stores import Match, get_store
from retrieval.filters import parse_filter
from retrieval.passages import Refusal
from retrieval.pipelines.threads import in_threads
from retrieval.questions.clauses import Reading, join_filters
from retrieval.questions.english.rules import find_identifiers, is_foreign, read_question
from retrieval.questions.model import QuestionReading, ask_model, take_filters
from retrieval.questions.relevance import is_relevant
from retrieval.questions.values import HURRIED_SECONDS, KEPT_SECONDS, read_values
from retrieval.search.targets import Target, find_builds, make_targets, read_spec
from summaries.exceptions import LanguageModelError
from summaries.llm import is_configured
from summaries.prompts import read_template


@component
@in_threads
class FilterParser:
    """Reads out of a question what the spec's fields with ``said_as`` say: years, persons,
    names, marks. What it cannot honour it says in ``notes``, and leaves in the query.

    Rules for English read first. Where a language model is configured, and ``uses_model``, it
    reads what they left, in other wordings and languages; of that counts what the words of the
    question bear out. Where it does not answer within ``patience_seconds``, the rules alone have
    read, and a note says so.

    A question that has nothing to do with the index ends in a ``refusal`` and in nothing else,
    so that no component after this one runs: one that the language model calls irrelevant, or,
    where none was asked, one in English that is farther from every passage than
    ``min_similarity`` and whose words no passage holds all of (``retrieval.questions.relevance``;
    0 refuses nothing). Filters alone, the name of a document and its exact title are relevant
    whatever a model says, and so is anything to an empty index.
    """

    def __init__(
        self,
        min_similarity: float = 0.0,
        uses_model: bool = True,
        model: str = "",
        prompt: str = "filters",
        patience_seconds: float = 8.0,
    ) -> None:
        if not 0 <= min_similarity <= 1:
            raise InvalidInput("min_similarity lies between 0 and 1.", field="min_similarity")
        read_template(prompt)  # that it is there
        self.min_similarity = min_similarity
        self.uses_model = uses_model
        self.model = model
        self.prompt = prompt
        self.patience_seconds = patience_seconds

    def warm_up(self) -> None:
        """Read the lists of stop words, of which there is one for each language."""
        is_foreign("What is known?")

    @component.output_types(
        query=str,
        filter=dict[str, Any] | None,
        parsed=dict[str, Any],
        notes=list[str],
        refusal=Refusal,
    )
    def run(self, index: str, query: str, filter: dict[str, Any] | None = None) -> dict[str, Any]:
        """``filter`` comes out as the given one and what was read, both holding; ``parsed`` is
        what was read.

        Raises:
            UnknownIndex, InvalidInput: ``filter`` is wrong.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        build = find_builds([index])[index]
        if build is None:
            return {"query": query, "filter": filter, "parsed": {}, "notes": []}
        spec = read_spec(build.recipe)
        parse_filter(filter, spec)
        [target] = make_targets([build], spec.kinds[:1], None)
        reading, verdict, notes = self._read(query, target, timezone.localdate())
        if self._refuses(query, reading, verdict, target):
            return {"refusal": make_refusal(spec)}
        joined = join_filters([filter or {}, reading.filter])
        try:
            parse_filter(joined, spec)
        except InvalidInput as error:  # both together are more than one filter may hold
            notes = [*notes, f"What the question says is not filtered by: {error.detail}"]
            return {"query": query, "filter": filter, "parsed": {}, "notes": notes}
        return {
            "query": reading.query,
            "filter": joined or None,
            "parsed": reading.filter,
            "notes": notes,
        }

    def _read(
        self, query: str, target: Target, today: date
    ) -> tuple[Reading, bool | None, list[str]]:
        """What the question says, whether the model calls it relevant, and all notes."""
        asked, notes = self._ask_model(query, target, today)
        read = partial(self._read_with, query, target, today, asked)
        reading = read(KEPT_SECONDS)
        if reading.has_unknown:  # it may have come since
            reading = read(HURRIED_SECONDS)
        verdict = None if asked is None else asked.is_relevant
        return reading, verdict, [*notes, *reading.notes]

    def _read_with(
        self,
        query: str,
        target: Target,
        today: date,
        asked: QuestionReading | None,
        seconds: float,
    ) -> Reading:
        values = read_values(target.spec, target.collection, seconds=seconds)
        findings = read_question(query, target.spec, values, today)
        if asked is not None:
            take_filters(findings, asked.filters, target.spec, values, today)
        return findings.reading()

    def _ask_model(
        self, query: str, target: Target, today: date
    ) -> tuple[QuestionReading | None, list[str]]:
        if not self.uses_model or not is_configured():
            return None, []
        values = read_values(target.spec, target.collection)
        try:
            asked = ask_model(
                query,
                target.spec,
                values,
                today,
                model=self.model,
                prompt=self.prompt,
                patience_seconds=self.patience_seconds,
            )
        except LanguageModelError:
            return None, ["The language model did not answer; rules alone have read the question."]
        return asked, []

    def _refuses(self, query: str, reading: Reading, verdict: bool | None, target: Target) -> bool:
        if verdict or not reading.topic or find_identifiers(query, target.spec):
            return False
        if verdict is False:
            return not _is_title(query, target)
        if not self.min_similarity:
            return False
        return not is_relevant(target, reading.topic, self.min_similarity)


def _is_title(query: str, target: Target) -> bool:
    return get_store().count(target.collection, Match("artifact_title", [query.strip()])) > 0


def make_refusal(spec: IndexSpec) -> Refusal:
    title = spec.title or spec.name
    holds = spec.description.rstrip(". ")
    return Refusal(
        detail=f"{title} holds nothing that this question is about.",
        fix=f"Ask about what it holds: {holds[:1].lower()}{holds[1:]}." if holds else None,
    )
