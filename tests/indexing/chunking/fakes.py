"""Fakes of a tokenizer and a model, and ``cut``, which splits text with them."""

import numpy as np

from indexing.chunking import split_into_chunks
from indexing.spec import LlmStrategy, ParagraphStrategy, SemanticStrategy, SentenceStrategy

SENTENCE = SentenceStrategy()
STRATEGIES = [
    SentenceStrategy(max_chars=50),
    SENTENCE,
    ParagraphStrategy(),
    SemanticStrategy(max_chars=120, breakpoint_percentile=60),
    LlmStrategy(max_chars=120),
]
FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"


class Counter:
    """A tokenizer with two special tokens and a fixed number per character; counts its calls."""

    def __init__(self, per_character=1):
        self.per_character = per_character
        self.calls = 0

    def __call__(self, texts):
        self.calls += 1
        return [len(text) * self.per_character + 2 for text in texts]


def by_words(texts):
    return [len(text.split()) + 2 for text in texts]


def by_letters(texts):
    """A deterministic embedding: the same letters give the same vector."""
    return np.array([[1 + text.count(letter) for letter in "aeinost"] for text in texts])


def cut(
    text,
    strategy=SENTENCE,
    *,
    context="",
    window=100_000,
    count_tokens=None,
    embed=by_letters,
    boundaries=(),
):
    return split_into_chunks(
        text,
        strategy,
        context=context,
        window=window,
        count_tokens=count_tokens or Counter(),
        embed=embed,
        boundaries=boundaries,
    )


def texts(chunks):
    return [chunk.text for chunk in chunks]
