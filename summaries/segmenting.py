"""Finds with a language model where a source turns to another topic, so that chunks are cut there.

The model is shown numbered sentences and names those with which a new topic begins, as in:

    Duarte et al., "LumberChunker: Long-Form Narrative Document Segmentation", EMNLP Findings 2024.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from django.conf import settings
from pydantic import BaseModel, create_model

from core.exceptions import StrataError
from documents.source_splitting import MAX_CHARS as MAX_SOURCE_CHARS
from indexing.chunking.packing import MIN_TOPIC_SHARE
from indexing.spec import LlmStrategy
from language_models import llm
from language_models.exceptions import InvalidCompletion, LanguageModelCost
from language_models.prompts import render_prompt
from language_models.response_schemas import max_items
from summaries.models import EXTRACTIVE_MODEL_NAME
from summaries.response_faults import ASK_AGAIN
from summaries.writers import (
    Key,
    LanguageModelWriter,
    ModelCall,
    Outcome,
    SegmentationDraft,
    is_final,
)
from text.sentences import Sentence, ceil_divide, find_sentences

MAX_SHOWN_CHARS = 400  # of one sentence: its beginning says what it is about


@dataclass(frozen=True, slots=True)
class SegmentationInput:
    text: str  # of a source
    is_cache_bypassed: bool = False
    artifact_id: UUID | None = None
    attempt: int = 1


class _Window(NamedTuple):
    """Sentences shown to the model in one call. The first has been judged in the window before."""

    sentences: Sequence[Sentence]
    lines: Sequence[str]

    @property
    def char_count(self) -> int:
        return self.sentences[-1].end - self.sentences[0].start


def can_be_cut(text: str, strategy: LlmStrategy) -> bool:
    """Whether the text is long enough for two topics that are separated."""
    is_long = len(text.strip()) >= 2 * MIN_TOPIC_SHARE * strategy.max_chars
    return is_long and len(find_sentences(text)) > 1


def count_calls_of_source() -> int:
    """At most, for one source: a window may have room for one more sentence, and repeats one."""
    least = max(1, settings.STRATA_LLM_CONTEXT_CHARS - 2 * MAX_SHOWN_CHARS)
    return ceil_divide(MAX_SOURCE_CHARS, least)


@dataclass(slots=True)
class _Progress:
    """What is known of one text while its windows are answered."""

    windows: list[_Window]
    answered_count: int = 0
    boundaries: list[int] = field(default_factory=list)
    model_name: str = ""
    refusal: StrataError | None = None
    outage: StrataError | None = None
    cost: LanguageModelCost = field(default_factory=LanguageModelCost)

    def make_draft(self) -> SegmentationDraft:
        if self.refusal is not None:
            return _leave_to_sentences(self.refusal.with_fix())
        return SegmentationDraft(sorted(self.boundaries), self.model_name)


def find_boundaries(
    inputs: Mapping[Key, SegmentationInput], strategy: LlmStrategy, *, may_call_model: bool = True
) -> Iterator[Outcome[Key, SegmentationDraft]]:
    """Yield the boundaries of each text as they are found. A text for which the model gives no
    usable answer has none, and a note that says why.

    With ``may_call_model=False`` it makes no call, as ``LanguageModelWriter``.
    """
    if not llm.is_configured():
        for key in inputs:
            yield Outcome(key, _leave_to_sentences("No language model is set."))
        return
    texts = {key: _Progress(_split_into_windows(given.text)) for key, given in inputs.items()}
    calls = {
        (key, number): _make_call(window, inputs[key], strategy)
        for key, text in texts.items()
        for number, window in enumerate(text.windows)
    }
    for outcome in LanguageModelWriter(may_call_model=may_call_model).complete(calls):
        key, number = outcome.key
        text, completion, error = texts[key], outcome.value, outcome.error
        text.cost += outcome.cost
        if completion is not None:
            text.model_name = completion.model_name
            try:
                text.boundaries += _read_boundaries(
                    text.windows[number], completion.value, strategy
                )
            except InvalidCompletion as unusable:
                error = unusable
        if is_final(error, inputs[key].attempt):
            text.refusal = error
        elif error is not None:
            text.outage = error
            continue
        text.answered_count += completion is not None or error is not None
        if text.answered_count == len(text.windows):
            yield Outcome(key, text.make_draft(), cost=text.cost)
            text.cost = LanguageModelCost()
    spent = LanguageModelCost()  # on texts that an outage has left unfinished
    for key, text in texts.items():
        if not text.windows:
            yield Outcome(key, SegmentationDraft([], EXTRACTIVE_MODEL_NAME))
        elif text.answered_count < len(text.windows):
            spent += text.cost
            if not may_call_model:
                yield Outcome(key, cost=text.cost)
    for key, text in texts.items():
        if text.outage is not None:
            yield Outcome(key, error=text.outage, cost=spent)
            spent = LanguageModelCost()


def _leave_to_sentences(reason: str) -> SegmentationDraft:
    return SegmentationDraft([], EXTRACTIVE_MODEL_NAME, f"Cut by sentences instead: {reason}")


def _split_into_windows(text: str) -> list[_Window]:
    """Windows of at most ``STRATA_LLM_CONTEXT_CHARS``, but two sentences at least. Each begins with
    the last sentence of the one before, so that every sentence has the one before it beside it."""
    limit, sentences = settings.STRATA_LLM_CONTEXT_CHARS, find_sentences(text)
    lines = [" ".join(text[each.start : each.end].split())[:MAX_SHOWN_CHARS] for each in sentences]
    windows = []
    first = 0
    while first < len(sentences) - 1:
        last, size = first + 2, len(lines[first]) + len(lines[first + 1])
        while last < len(sentences) and size + len(lines[last]) <= limit:
            size += len(lines[last])
            last += 1
        windows.append(_Window(sentences[first:last], lines[first:last]))
        first = last - 1
    return windows


def _make_call(window: _Window, given: SegmentationInput, strategy: LlmStrategy) -> ModelCall:
    count = len(window.lines)
    prompt = render_prompt(
        strategy.prompt,
        "\n".join(f"{number}: {line}" for number, line in enumerate(window.lines, start=1)),
        count=count,
        most=max(2, count * strategy.max_chars // window.char_count),
    )
    return ModelCall(
        prompt,
        _make_schema(count),
        strategy.model,
        given.is_cache_bypassed,
        given.artifact_id,
        partial(_find_fault, window, strategy),
    )


@cache
def _make_schema(count: int) -> type[BaseModel]:
    starts: Any = (Annotated[list[int], max_items(count)], ...)
    return create_model("SegmentationResponse", starts=starts)


def _read_boundaries(window: _Window, value: Any, strategy: LlmStrategy) -> list[int]:
    """Raises ``InvalidCompletion``: the numbers cannot be used."""
    if fault := _find_fault(window, strategy, value):
        reason = fault.removesuffix(ASK_AGAIN).strip()
        raise InvalidCompletion(f"The language model's numbers were refused twice. {reason}")
    return [window.sentences[number - 1].start for number in value.starts if number > 1]


def _find_fault(window: _Window, strategy: LlmStrategy, value: Any) -> str | None:
    """What to tell the model about its numbers."""
    starts, count = value.starts, len(window.sentences)
    new = [number for number in starts if number > 1]
    if any(not 1 <= number <= count for number in starts):
        fault = f"The numbers must be those of sentences, from 1 to {count}."
    elif any(after <= before for before, after in pairwise(starts)):
        fault = "The numbers must rise, and each may occur once."
    elif len(new) > ceil_divide(count, 2):
        fault = "Name only the sentences with which a new topic begins, fewer than every second."
    elif not new and window.char_count > strategy.max_chars:
        fault = "The text is longer than one passage: name at least one sentence after the first."
    else:
        return None
    return f"{fault} {ASK_AGAIN}"
