"""Rewrites a follow-up question by a language model, so that it is understood by itself."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BaseModel

import strata_types
from core.text import clean_text
from language_models.exceptions import LanguageModelError
from language_models.llm import get_language_model, is_configured
from language_models.prompts import join_texts_within_limit, remove_fences, render_prompt
from language_models.response_schemas import max_chars

MAX_TURNS: Final = 10
MAX_HISTORY_CHARS: Final = 8_000  # of the conversation, shown to the language model
MAX_QUESTION_CHARS: Final = 2_000  # of a question, shown to the language model or written by it
MAX_TOKENS: Final = 400
PATIENCE_SECONDS: Final = 8.0
UNREAD: Final = "The question was taken by itself, without the earlier ones: "


class ModelQuestion(BaseModel):
    question: Annotated[str, max_chars(MAX_QUESTION_CHARS)]


def rewrite_follow_up(
    question: str, turns: Sequence[strata_types.Turn]
) -> tuple[str, tuple[str, ...]]:
    """The question as it reads without the conversation. If there is no language model to rewrite
    it, the unchanged question and a note."""
    if not is_configured():
        return question, (UNREAD + "only a language model can read these, and none is configured.",)
    if len(question) > MAX_QUESTION_CHARS:
        return question, (UNREAD + f"it is longer than {MAX_QUESTION_CHARS:,} characters.",)
    texts = [f"Question: {turn['question']}\nAnswer: {turn['answer']}" for turn in turns]
    conversation = join_texts_within_limit(texts, MAX_HISTORY_CHARS)
    prompt = render_prompt("follow_up", conversation, question=question)
    try:
        written = get_language_model("").complete(
            prompt.system,
            prompt.user,
            ModelQuestion,
            max_tokens=MAX_TOKENS,
            patience_seconds=PATIENCE_SECONDS,
        )
    except LanguageModelError:
        return question, (UNREAD + "the language model did not answer.",)
    rewritten = clean_text(remove_fences(written.value.question))
    return " ".join(rewritten.split())[:MAX_QUESTION_CHARS] or question, ()
