"""Embed texts with their context: the title and heading that they stand under."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from indexing.chunking import prepend_context
from indexing.embedding import Embedder
from indexing.embedding.vectors import Vectors, normalise

# Above it a text's vector could not be told from the sum: two texts would have the same.
MAX_CONTEXT_LENGTH = 0.95


class WeightedContext(Protocol):
    @property
    def context(self) -> str:
        """One line for each part; empty for none."""

    @property
    def context_weight(self) -> float | None:
        """Of the vector of each part, beside that of the text; None: the context is embedded as the
        beginning of the text."""


class TextInContext(WeightedContext, Protocol):
    @property
    def text(self) -> str: ...


def embed_in_context(
    embedder: Embedder,
    texts: Sequence[TextInContext],
    vector_of_line: dict[str, Vectors] | None = None,
) -> Vectors:
    """(texts, dimension); those with a weight are of length 1. ``vector_of_line``: of the lines of
    contexts that calls before this one have embedded; those of this call are added.

    Source: the unified embedding of Yousuf et al., *Utilizing Metadata for Better
    Retrieval-Augmented Generation*, arXiv 2601.11863, here with one vector for each part.
    """
    vector_of_line = {} if vector_of_line is None else vector_of_line
    weighted = [row for row, each in enumerate(texts) if each.context_weight is not None]
    lines = [
        line for line in _list_lines(texts[row] for row in weighted) if line not in vector_of_line
    ]
    whole = [
        prepend_context(each.context, each.text) if each.context_weight is None else each.text
        for each in texts
    ]
    vectors = embedder.embed_documents([*whole, *lines])
    vectors, line_vectors = vectors[: len(texts)], normalise(vectors[len(texts) :])
    vector_of_line.update(zip(lines, line_vectors, strict=True))
    for row in weighted:
        [vector] = normalise(vectors[row : row + 1])
        vectors[row] = vector + _add_lines(texts[row], vector_of_line)
    vectors[weighted] = normalise(vectors[weighted])
    return vectors


def replace_contexts(
    embedder: Embedder,
    vectors: Vectors,
    old: Sequence[WeightedContext],
    new: Sequence[WeightedContext],
) -> list[Vectors | None]:
    """The vectors that ``embed_in_context`` would give the same texts in new contexts; only the
    lines of contexts are embedded. All have a weight. None for a text whose old context outweighs
    it.

    A vector ``v`` is ``(t + c) / n`` with the text's vector ``t``, of length 1, and its context
    ``c``. So ``|n v - c| = 1`` gives ``n``, and ``n v - c`` is ``t``.
    """
    lines = _list_lines([*old, *new])
    vector_of_line = dict(zip(lines, normalise(embedder.embed_documents(lines)), strict=True))
    found: list[Vectors | None] = []
    for vector, before, after in zip(vectors, old, new, strict=True):
        context = _add_lines(before, vector_of_line)
        squared = float(context @ context)
        if squared > MAX_CONTEXT_LENGTH**2:
            found.append(None)
            continue
        along = float(vector @ context)
        text = (along + np.sqrt(along**2 + 1 - squared)) * vector - context
        found.append(normalise((text + _add_lines(after, vector_of_line))[None])[0])
    return found


def _list_lines(contexts: Iterable[WeightedContext]) -> list[str]:
    return sorted({line for each in contexts for line in each.context.splitlines()})


def _add_lines(context: WeightedContext, vector_of_line: Mapping[str, Vectors]) -> Vectors:
    vectors = [vector_of_line[line] for line in context.context.splitlines()]
    return np.float32(context.context_weight) * np.sum(vectors, axis=0)
