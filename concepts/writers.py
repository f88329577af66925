"""Who finds concepts in a text: a language model where one is configured, else rules.

Rules take the text's own key phrases for concepts and the sentences they stand in for their
quotes, and say nothing of relationships. Writers know neither rows nor leases.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from django.conf import settings
from pydantic import BaseModel, Field

from core.exceptions import StrataError
from indexing.spec import IndexSpec
from summaries import llm
from summaries.extractive.languages import guess_language, is_unspaced
from summaries.extractive.phrases import find_key_phrases
from summaries.extractive.sentences import quotable_sentences
from summaries.prompts import render_prompt
from summaries.writers import EXTRACTIVE, Cost, LanguageModelWriter

MIN_PHRASE_CHARS = 4
QUOTES_PER_CONCEPT = 3

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class SourceInput:
    text: str
    heading: str
    is_asked_anew: bool = False  # a kept answer will not do


@dataclass(frozen=True, slots=True)
class FoundConcept:
    label: str
    quotes: list[str]
    description: str = ""


@dataclass(frozen=True, slots=True)
class FoundRelationship:
    source: str  # a concept's label
    type: str
    target: str
    category: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    concepts: list[FoundConcept]
    relationships: list[FoundRelationship]
    model_name: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """``findings`` None without an ``error``: it was not come to."""

    key: Any
    findings: Findings | None
    error: StrataError | None = None
    cost: Cost = field(default_factory=Cost)


class ConceptWriter(Protocol):
    def find(self, inputs: Mapping[Key, SourceInput], spec: IndexSpec) -> Iterator[Outcome]: ...


def get_writer() -> ConceptWriter:
    return LanguageModelConcepts() if llm.is_configured() else KeyPhraseConcepts()


class KeyPhraseConcepts:
    """Nothing is invented, no one is asked. In scripts that put no spaces between words there
    are no phrases to be told apart, and none are found."""

    def find(self, inputs: Mapping[Key, SourceInput], spec: IndexSpec) -> Iterator[Outcome]:
        assert spec.concepts is not None
        for key, given in inputs.items():
            concepts = find_phrases(given.text, count=spec.concepts.per_source)
            yield Outcome(key, Findings(concepts, [], EXTRACTIVE))


def find_phrases(text: str, *, count: int) -> list[FoundConcept]:
    """The text's ``count`` most telling phrases, each with the first sentences that hold it."""
    if is_unspaced(text):
        return []
    sentences = [sentence.text for sentence in quotable_sentences(text)]
    language = guess_language(text, "en")
    found: list[FoundConcept] = []
    for phrase in find_key_phrases(sentences, language=language, count=2 * count):
        quotes = [each for each in sentences if phrase.lower() in each.lower()]
        if len(phrase) >= MIN_PHRASE_CHARS and quotes:
            found.append(FoundConcept(phrase, quotes[:QUOTES_PER_CONCEPT]))
    return found[:count]


# --- Language models -------------------------------------------------------------------------


class ConceptAnswer(BaseModel):
    label: str = Field(min_length=1)
    description: str = ""
    quotes: list[str] = Field(default_factory=list)


class RelationshipAnswer(BaseModel):
    source: str
    type: str = Field(min_length=1)
    category: str = ""
    target: str


class ConceptsAnswer(BaseModel):
    concepts: list[ConceptAnswer]
    relationships: list[RelationshipAnswer] = Field(default_factory=list)


class LanguageModelConcepts:
    def find(self, inputs: Mapping[Key, SourceInput], spec: IndexSpec) -> Iterator[Outcome]:
        about = spec.concepts
        assert about is not None
        prompts = {
            key: (
                render_prompt(
                    about.prompt,
                    given.text[: settings.STRATA_LLM_CONTEXT_CHARS],
                    heading=given.heading,
                    count=about.per_source,
                ),
                about.model,
            )
            for key, given in inputs.items()
        }
        asked_anew = {key for key, given in inputs.items() if given.is_asked_anew}
        asked = LanguageModelWriter().ask(prompts, ConceptsAnswer, asked_anew)
        for key, answer, error, cost in asked:
            findings = None
            if answer is not None:
                findings = _read(answer.value, answer.model_name, about.per_source)
            yield Outcome(key, findings, error, cost)


def _read(said: Any, model_name: str, count: int) -> Findings:
    concepts = [
        FoundConcept(each.label, each.quotes[:QUOTES_PER_CONCEPT], each.description)
        for each in said.concepts[:count]
    ]
    relationships = [
        FoundRelationship(each.source, each.type, each.target, each.category)
        for each in said.relationships
    ]
    return Findings(concepts, relationships, model_name)
