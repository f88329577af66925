"""Summaries made of a text's own sentences."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from summaries.extractive.centrality import choose_central
from summaries.extractive.sentences import CitedSentence, quotable_sentences

Embed = Callable[[Sequence[str]], NDArray[np.float32]]  # unit-length rows, in the given order

MAX_EMBEDDED = 200  # sentences of one text


def summarise_text(text: str, *, sentences: int, embed: Embed) -> list[CitedSentence]:
    """The sentences most like the text as a whole, in reading order, at most ``sentences``.

    A text of no more than that comes back whole; sentences that repeat others are left out, so
    there may be fewer. Of long texts ``MAX_EMBEDDED`` sentences are looked at, evenly spread.
    Formulas and their sources: ``choose_central``.
    """
    return summarise_many([text], sentences=sentences, embed=embed)[0]


def summarise_many(
    texts: Sequence[str], *, sentences: int, embed: Embed
) -> list[list[CitedSentence]]:
    """``summarise_text`` of each, at one call of ``embed``; at none where nothing is to choose."""
    candidates = [_candidates(text) for text in texts]
    flat = [sentence.text for those in candidates for sentence in those]
    if not flat or sentences < 1:
        return [[] for _ in texts]
    vectors = embed(flat)
    summaries, first = [], 0
    for those in candidates:
        rows = choose_central(vectors[first : first + len(those)], sentences)
        summaries.append([those[row] for row in sorted(rows)])
        first += len(those)
    return summaries


def _candidates(text: str) -> list[CitedSentence]:
    """Quotable sentences, each wording once, evenly thinned to ``MAX_EMBEDDED``."""
    distinct: dict[str, CitedSentence] = {}
    for sentence in quotable_sentences(text):
        distinct.setdefault(" ".join(sentence.text.casefold().split()), sentence)
    sentences = list(distinct.values())
    if len(sentences) <= MAX_EMBEDDED:
        return sentences
    return [sentences[number * len(sentences) // MAX_EMBEDDED] for number in range(MAX_EMBEDDED)]
