"""Answers a question with sentences quoted from the passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval.passages import AnswerContext
from retrieval.questions.words import fold_words
from summaries.extractive.centrality import choose_by_marginal_relevance
from summaries.extractive.languages import guess_language, load_stop_words
from summaries.extractive.sentences import LocatedSentence, find_quotable_sentences

# A query and texts -> their vectors, of unit length.
Embed = Callable[[str, Sequence[str]], tuple[NDArray[np.float32], NDArray[np.float32]]]

MAX_EMBEDDED_SENTENCES: Final = (
    12  # sentences: about 400 tokens, which whoever waits has to wait for
)
SHARED_WORDS_WEIGHT: Final = 0.2  # of the words in common, beside the cosine
MIN_SHARED_WORDS: Final = (
    0.6  # of the best sentence's relevance, that another needs to stand beside it
)


@dataclass(frozen=True, slots=True)
class Quotation:
    """A sentence of a context, and where it stands in the context's text."""

    context: AnswerContext
    sentence: LocatedSentence


def select_quotations(
    query: str, contexts: Sequence[AnswerContext], *, sentences: int, embed: Embed
) -> list[Quotation]:
    """The sentences that answer a query best, ``sentences`` at most, no two alike, in the order
    of the contexts and as they stand there.

    A sentence's relevance is its cosine to the query, and ``SHARED_WORDS_WEIGHT`` times the share
    of the query's words that it holds. Of many sentences those of the best contexts that share most
    words are looked at. How they are chosen, and from where that is:
    ``choose_by_marginal_relevance``."""
    words = _content_words(query)
    candidates = [
        (context, sentence, _shared_word_fraction(words, sentence.text))
        for context in contexts
        for sentence in find_quotable_sentences(context.text)
    ]
    # Sorting is stable: among equals, those of the better contexts stay in front.
    candidates = sorted(candidates, key=lambda each: -each[2])[:MAX_EMBEDDED_SENTENCES]
    if not candidates:
        return []
    asked, vectors = embed(query, [sentence.text for _, sentence, _ in candidates])
    shares = np.array([share for *_, share in candidates], dtype=np.float32)
    relevance = vectors @ asked + SHARED_WORDS_WEIGHT * shares
    rows = choose_by_marginal_relevance(vectors, relevance, sentences)
    best = float(relevance.max())
    chosen = [candidates[row] for row in rows if relevance[row] >= MIN_SHARED_WORDS * best]
    chosen.sort(key=lambda each: (each[0].number, each[1].start))
    return [Quotation(context, sentence) for context, sentence, _ in chosen]


def _content_words(query: str) -> frozenset[str]:
    words = frozenset(fold_words(query))
    return (words - load_stop_words(guess_language(query, "en"))) or words


def _shared_word_fraction(words: frozenset[str], sentence: str) -> float:
    return len(words & set(fold_words(sentence))) / len(words) if words else 0.0
