"""Pipeline component that picks the final hits and the contexts an answer is written from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from haystack import component

from access.grants import EVERYTHING, Grant
from answers.pipelines.run_async import add_run_async
from core.exceptions import InvalidInput
from retrieval.hooks import find_quoted_relationships
from retrieval.passages import AnswerContext, Passage, QuotedRelationship
from retrieval.search import Verdict
from text.sentences import find_sentences

MIN_CONTEXT_CHARS = 200  # of a truncated passage; a shorter text is of little use


@component
@add_run_async
@dataclass(eq=False, repr=False)
class ContextBuilder:
    """Keep the best ``limit`` passages as hits, and as many of them as fit in ``max_chars`` as
    contexts, best first.

    A context has its hit's number, counted from 1. A text that an earlier context contains is left
    out, for example a copy. The last text is truncated at the end of a sentence if it does not fit.
    Stale hits give no context. The relationships that the contexts quote belong to them.
    """

    max_chars: int = 12_000

    def __post_init__(self) -> None:
        if self.max_chars < MIN_CONTEXT_CHARS:
            raise InvalidInput(f"max_chars must be {MIN_CONTEXT_CHARS} or more.", field="max_chars")

    @component.output_types(
        passages=list[Passage],
        contexts=list[AnswerContext],
        relationships=list[QuotedRelationship],
    )
    def run(
        self, query: str, passages: list[Passage], limit: int = 10, grant: Grant = EVERYTHING
    ) -> dict[str, Any]:
        hits = passages[:limit]
        contexts: list[AnswerContext] = []
        remaining_chars = self.max_chars
        for number, passage in enumerate(hits, start=1):
            text = passage.hit.passage_text
            is_repeated = any(text in context.text for context in contexts)
            if passage.hit.verdict == Verdict.STALE or is_repeated:
                continue
            truncated_text = _truncate_at_sentence(text, remaining_chars)
            if truncated_text:
                contexts.append(AnswerContext(number, passage, truncated_text))
            if len(truncated_text) < len(text):
                break
            remaining_chars -= len(text)
        found = find_quoted_relationships(query, contexts, grant)
        contexts = [replace(each, relationships=_select(found, each)) for each in contexts]
        return {"passages": hits, "contexts": contexts, "relationships": found}


def _select(
    relationships: Sequence[QuotedRelationship], context: AnswerContext
) -> tuple[QuotedRelationship, ...]:
    return tuple(each for each in relationships if each.quotes[0].context is context)


def _truncate_at_sentence(text: str, max_chars: int) -> str:
    """The text, or as many whole sentences from its start as fit; empty if fewer than
    MIN_CONTEXT_CHARS fit."""
    if len(text) <= max_chars:
        return text
    end = 0
    for sentence in find_sentences(text):
        if sentence.end > max_chars:
            break
        end = sentence.end
    return text[:end] if end >= MIN_CONTEXT_CHARS else ""
