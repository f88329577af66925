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

MAX_EMBEDDED_SENTENCES: Final = 12  # sentences: about 400 tokens, embedded while the caller waits
SHARED_WORDS_WEIGHT: Final = 0.2  # weight of the shared words; the cosine has weight 1
# share of the best sentence's relevance that any other quoted sentence needs
MIN_RELATIVE_RELEVANCE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quoted sentence, with its position in the context's text."""

    context: AnswerContext
    sentence: LocatedSentence


def select_quotations(
    query: str, contexts: Sequence[AnswerContext], *, max_sentences: int, embed: Embed
) -> list[Quotation]:
    """Select the sentences that answer a query best, without near-duplicates.

    At most ``max_sentences``, in the order of the contexts and of their text.

    A sentence's relevance is its cosine to the query, and ``SHARED_WORDS_WEIGHT`` times the share
    of the query's words that it holds. Only the ``MAX_EMBEDDED_SENTENCES``
    sentences that share most words with the query are embedded. ``choose_by_marginal_relevance``
    selects among them and cites its source."""
    words = _select_content_words(query)
    candidates = [
        (context, sentence, _shared_word_fraction(words, sentence.text))
        for context in contexts
        for sentence in find_quotable_sentences(context.text)
    ]
    # The sort is stable, so ties keep the order of the contexts.
    candidates = sorted(candidates, key=lambda each: -each[2])[:MAX_EMBEDDED_SENTENCES]
    if not candidates:
        return []
    query_vector, vectors = embed(query, [sentence.text for _, sentence, _ in candidates])
    shares = np.array([share for *_, share in candidates], dtype=np.float32)
    relevance = vectors @ query_vector + SHARED_WORDS_WEIGHT * shares
    rows = choose_by_marginal_relevance(vectors, relevance, max_sentences)
    best = float(relevance.max())
    chosen = [candidates[row] for row in rows if relevance[row] >= MIN_RELATIVE_RELEVANCE * best]
    chosen.sort(key=lambda each: (each[0].number, each[1].start))
    return [Quotation(context, sentence) for context, sentence, _ in chosen]


def _select_content_words(query: str) -> frozenset[str]:
    words = frozenset(fold_words(query))
    return (words - load_stop_words(guess_language(query, "en"))) or words


def _shared_word_fraction(words: frozenset[str], sentence: str) -> float:
    return len(words & set(fold_words(sentence))) / len(words) if words else 0.0
