"""Embeds texts with the model of an index, as its searches and its documents are embedded."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from core.text import is_text
from indexing import embedding
from indexing.embedding.vectors import Vectors
from retrieval.event_loop import run_in_thread
from retrieval.search.query_vectors import add_synonyms, embed_queries
from retrieval.search.targets import find_builds

MAX_TEXTS = 100
MAX_TEXT_CHARS = 10_000
MAX_REQUEST_CHARS = 100_000  # of all texts together: two seconds on two cores


class InputType(StrEnum):
    """Models may embed a question otherwise than the passage that answers it."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class TextVectors:
    """``vectors``: (texts, dimension), in the given order. ``truncated``: the positions of texts of
    which the model has read only the beginning."""

    index: str
    model: str
    input_type: InputType
    vectors: Vectors
    truncated: list[int]


def embed_texts(
    index: str,
    texts: Sequence[str],
    *,
    input_type: InputType | str = InputType.QUERY,
    grant: Grant = EVERYTHING,
) -> TextVectors:
    """Embed up to ``MAX_TEXTS`` texts: queries as a search embeds them, with their synonyms, and
    passages as documents, without a title.

    Raises:
        UnknownIndex: lists the known names.
        InvalidInput: a text is empty or too long, or the index has no live build.
        EmbeddingUnavailable, ModelUnavailable: as ``Embedder.embed_documents``.
    """
    input_type = InputType(input_type)
    _check_texts(texts)
    [build] = find_builds([index], grant).values()
    if build is None:
        raise InvalidInput(f"The index {index} has no live build.", field="index")
    spec = build.spec
    model = embedding.get_embedder(spec.embedding)
    if input_type == InputType.QUERY:
        texts = [add_synonyms(text, spec.search.synonyms) for text in texts]
        vectors = embed_queries(spec.embedding, texts)
    else:
        vectors = model.embed_documents(texts)
    counts = model.count_tokens(texts, as_queries=input_type == InputType.QUERY)
    truncated = [n for n, count in enumerate(counts) if count > spec.embedding.window]
    return TextVectors(index, spec.embedding.model, input_type, vectors, truncated)


async def aembed_texts(index: str, texts: Sequence[str], **options: Any) -> TextVectors:
    """``embed_texts`` in a thread, for callers in an event loop."""
    return await run_in_thread(embed_texts, index, texts, **options)


def _check_texts(texts: Sequence[str]) -> None:
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise InvalidInput(f"Give 1 to {MAX_TEXTS} texts.", field="input")
    for position, text in enumerate(texts):
        field = f"input.{position}" if len(texts) > 1 else "input"
        if not text.strip():
            raise InvalidInput("A text to embed must not be empty.", field=field)
        if not is_text(text):
            raise InvalidInput(
                "The text contains an unpaired surrogate, which is not valid Unicode.", field=field
            )
        if len(text) > MAX_TEXT_CHARS:
            raise InvalidInput(
                f"A text to embed may have at most {MAX_TEXT_CHARS:,} characters.", field=field
            )
    if sum(map(len, texts)) > MAX_REQUEST_CHARS:
        raise InvalidInput(
            f"The texts of a request may have at most {MAX_REQUEST_CHARS:,} characters together.",
            field="input",
            fix="Send fewer at a time.",
        )
