"""Other wordings of a question, that find what its own words miss."""

from collections.abc import Iterable
from typing import Final

import regex  # for Unicode properties, which re lacks
from pydantic import BaseModel

from indexing.spec import IndexSpec
from retrieval.questions.words import fold_words, word_set
from summaries.extractive.languages import guess_language, stop_words
from summaries.llm import get_language_model
from summaries.prompts import render_prompt

NEAR: Final = 0.75  # share of words in common from which on two wordings are one
MOST_CHARS: Final = 300  # of a wording
MAX_TOKENS: Final = 400

_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-'’./+][\p{L}\p{M}\p{N}]+)*")
_ASKING: Final = word_set(
    "what which how why who whom whose where when is are was were does do did can could should "
    "would will has have"
)


class Wordings(BaseModel):
    queries: list[str] = []


def ask_wordings(
    query: str, spec: IndexSpec, count: int, *, model: str, prompt: str, patience_seconds: float
) -> list[str]:
    """What a language model would search for instead; nothing of it is checked yet.

    Raises:
        LanguageModelError: by kind, as ``LanguageModel.complete``.
        InvalidSpec: there is no such prompt.
    """
    rendered = render_prompt(prompt, query, index=spec, count=count)
    asked = get_language_model(model)
    return asked.complete(
        rendered.system,
        rendered.user,
        Wordings,
        max_tokens=MAX_TOKENS,
        patience_seconds=patience_seconds,
    ).value.queries


def is_question(query: str) -> bool:
    """Whether it asks, and does not only name or claim something."""
    words = fold_words(query)
    return query.rstrip().endswith(("?", "？", "؟")) or (bool(words) and words[0] in _ASKING)


def name_topic(query: str) -> str:
    """The words of a question that say something, in their order: what it asks about, without
    how it asks. All of them are kept: to search for fewer finds less."""
    stops = stop_words(guess_language(query, "en"))
    return " ".join(word for word in _WORD.findall(query) if word.lower() not in stops)


def keep_diverse(query: str, others: Iterable[str], count: int) -> list[str]:
    """The query first, then those of the others that differ from all before, ``count`` in all."""
    kept = [query]
    for other in others:
        wording = " ".join(other.split())[:MOST_CHARS].strip()
        if len(kept) < count and wording and not any(_is_near(wording, each) for each in kept):
            kept.append(wording)
    return kept


def _is_near(one: str, other: str) -> bool:
    """By the Jaccard index of their words."""
    words, others = set(fold_words(one)), set(fold_words(other))
    return not words or len(words & others) >= NEAR * len(words | others)
