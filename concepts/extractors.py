"""Finds concepts in a text with a language model. It does not use database rows or leases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from uuid import UUID

from django.conf import settings
from pydantic import BaseModel, Field

from core.exceptions import StrataError
from indexing.spec import IndexSpec
from summaries.exceptions import LanguageModelCost
from summaries.llm.response_schemas import max_chars, max_items
from summaries.prompts import render_prompt
from summaries.writers import LanguageModelWriter, ModelCall

QUOTES_PER_CONCEPT = 3
MAX_CONCEPTS = 50  # the largest ``per_source``
MAX_RELATIONSHIPS = 100

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    text: str
    heading: str
    is_cache_bypassed: bool = False  # do not reuse a stored completion
    artifact_id: UUID | None = None  # the document with which the completion is deleted


class ConceptResponse(BaseModel):
    label: Annotated[str, max_chars(300)] = Field(min_length=1)
    description: Annotated[str, max_chars(1_000)] = ""
    quotes: Annotated[list[Annotated[str, max_chars(1_000)]], max_items(QUOTES_PER_CONCEPT)] = []


class RelationshipResponse(BaseModel):
    source: Annotated[str, max_chars(300)]  # a concept's label
    type: Annotated[str, max_chars(200)] = Field(min_length=1)
    category: Annotated[str, max_chars(60)] = ""
    target: Annotated[str, max_chars(300)]


class ExtractionResponse(BaseModel):
    concepts: Annotated[list[ConceptResponse], max_items(MAX_CONCEPTS)]
    relationships: Annotated[list[RelationshipResponse], max_items(MAX_RELATIONSHIPS)] = []


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    concepts: list[ConceptResponse]
    relationships: list[RelationshipResponse]
    model_name: str


@dataclass(frozen=True, slots=True)
class ExtractionOutcome:
    """The outcome for one source. If ``result`` and ``error`` are None, it was not processed."""

    key: Any
    result: ExtractionResult | None
    error: StrataError | None = None
    cost: LanguageModelCost = field(default_factory=LanguageModelCost)


def extract_from_texts(
    inputs: Mapping[Key, ExtractionInput], spec: IndexSpec
) -> Iterator[ExtractionOutcome]:
    concept_spec = spec.concepts
    assert concept_spec is not None
    calls = {
        key: ModelCall(
            render_prompt(
                concept_spec.prompt,
                source_input.text[: settings.STRATA_LLM_CONTEXT_CHARS],
                heading=source_input.heading,
                count=concept_spec.per_source,
            ),
            concept_spec.model,
            source_input.is_cache_bypassed,
            source_input.artifact_id,
        )
        for key, source_input in inputs.items()
    }
    for key, answer, error, cost in LanguageModelWriter().complete(calls, ExtractionResponse):
        result = None
        if answer is not None:
            response: Any = answer.value
            concepts = [
                each.model_copy(update={"quotes": each.quotes[:QUOTES_PER_CONCEPT]})
                for each in response.concepts[: concept_spec.per_source]
            ]
            result = ExtractionResult(concepts, response.relationships, answer.model_name)
        yield ExtractionOutcome(key, result, error, cost)
