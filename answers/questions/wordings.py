"""Other wordings of a question, by a language model or by rules, to increase recall."""

from collections.abc import Iterable
from typing import Annotated, Final

import regex  # for Unicode properties, which re lacks
from pydantic import BaseModel

from indexing.spec import IndexSpec
from language_models.llm import get_language_model
from language_models.prompts import render_prompt
from language_models.response_schemas import max_chars, max_items
from text.languages import guess_language, load_stop_words
from text.words import fold_words, split_word_set

DUPLICATE_SIMILARITY: Final = 0.75  # Jaccard index at which two wordings are duplicates
MAX_WORDINGS: Final = 20
MAX_WORDING_CHARS: Final = 300
MAX_TOKENS: Final = 400

_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-'’./+][\p{L}\p{M}\p{N}]+)*")
_QUESTION_WORDS: Final = split_word_set(
    "what which how why who whom whose where when is are was were does do did can could should "
    "would will has have"
)


class ModelWordings(BaseModel):
    queries: Annotated[
        list[Annotated[str, max_chars(MAX_WORDING_CHARS)]], max_items(MAX_WORDINGS)
    ] = []


def request_wordings(
    query: str, spec: IndexSpec, count: int, *, model: str, prompt: str, patience_seconds: float
) -> list[str]:
    """Ask a language model for other wordings of a query; they are unchecked. Raises
    ``LanguageModelError`` as ``LanguageModel.complete``."""
    rendered = render_prompt(prompt, query, index=spec, count=count)
    language_model = get_language_model(model)
    return language_model.complete(
        rendered.system,
        rendered.user,
        ModelWordings,
        max_tokens=MAX_TOKENS,
        patience_seconds=patience_seconds,
    ).value.queries


def is_question(query: str) -> bool:
    """Whether the text is a question, not a title, a claim or key words."""
    words = fold_words(query)
    return query.rstrip().endswith(("?", "？", "؟")) or (
        bool(words) and words[0] in _QUESTION_WORDS
    )


def extract_keywords(query: str) -> str:
    """All words of a question except stop words, in order: fewer words find less."""
    stops = load_stop_words(guess_language(query, "en"))
    return " ".join(word for word in _WORD.findall(query) if word.lower() not in stops)


def drop_near_duplicates(query: str, others: Iterable[str], count: int) -> list[str]:
    """The query, then each other wording that differs from all before it; at most ``count``."""
    kept = [query]
    for other in others:
        wording = " ".join(other.split())[:MAX_WORDING_CHARS].strip()
        if (
            len(kept) < count
            and wording
            and not any(_is_near_duplicate(wording, each) for each in kept)
        ):
            kept.append(wording)
    return kept


def _is_near_duplicate(one: str, other: str) -> bool:
    """Whether the Jaccard index of their words reaches DUPLICATE_SIMILARITY."""
    words, others = set(fold_words(one)), set(fold_words(other))
    return not words or len(words & others) >= DUPLICATE_SIMILARITY * len(words | others)
