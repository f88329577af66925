"""Embed texts with their context: the title and heading that they stand under."""

from collections.abc import Sequence
from typing import Protocol

from indexing.chunking import prepend_context
from indexing.embedding import Embedder
from indexing.embedding.vectors import Vectors, normalise


class TextInContext(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def context(self) -> str:
        """One line for each part; empty for none."""

    @property
    def context_weight(self) -> float | None:
        """Of the vector of each part, beside that of the text; None: the context is embedded as the
        beginning of the text."""


def embed_in_context(embedder: Embedder, texts: Sequence[TextInContext]) -> Vectors:
    """(texts, dimension); those with a weight are of length 1.

    Source: the unified embedding of Yousuf et al., *Utilizing Metadata for Better
    Retrieval-Augmented Generation*, arXiv 2601.11863, here with one vector for each part.
    """
    weighted = [row for row, each in enumerate(texts) if each.context_weight is not None]
    lines = sorted({line for row in weighted for line in texts[row].context.splitlines()})
    whole = [
        prepend_context(each.context, each.text) if each.context_weight is None else each.text
        for each in texts
    ]
    vectors = embedder.embed_documents([*whole, *lines])
    vectors, line_vectors = vectors[: len(texts)], normalise(vectors[len(texts) :])
    vector_of_line = dict(zip(lines, line_vectors, strict=True))
    sums = normalise(vectors[weighted])
    for vector, row in zip(sums, weighted, strict=True):
        for line in texts[row].context.splitlines():
            vector += texts[row].context_weight * vector_of_line[line]
    vectors[weighted] = normalise(sums)
    return vectors
