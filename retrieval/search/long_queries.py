"""Embeds a query that is longer than its model's window by its parts.

What is asked is mostly a question at the end of a pasted text. So it counts for as much as all
parts together, and twice as much if it has a question mark.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from indexing.embedding import Embedder
from indexing.sparse_vectors import encode_sparse_query
from indexing.spec import EmbeddingSpec, SparseSpec
from indexing.stores import DenseVector, SparseVector
from retrieval.search.query_syntax import PASTED_CHARS, compare_words
from text.languages import find_languages_of_stop_word
from text.sentences import find_sentences, split_long_sentences
from text.words import split_word_set

MAX_PARTS: Final = 6  # embedded of one query; of a longer one, the first and the last
_CHARS_PER_TOKEN: Final = 2  # at least, of a sentence that is cut
_QUESTION_WEIGHT: Final = 2.0
_OWN_TERMS: Final = 2  # of a question that needs no other words; "How do I fix this?" has one
_QUESTION_CHARS: Final = 300  # of a longer sentence, the last line is the question
# A question with at most so many words of its own and one of these is about the text.
_POINTING_TERMS: Final = 3
_POINTING: Final = split_word_set(
    "this these here dies diese dieser hier ce cette ici esto este aqui"
)
_LINE_CHARS: Final = 200  # of the text's first and last line, where its error stands
_AFTER_QUESTION: Final = re.compile(r"(?<=[?？؟])[\"'”’»)]*\s+")
_LAST: Final = re.compile(r"(?<=[.!:;])\s+|\n+")


def is_too_long(embedder: Embedder, query: str) -> bool:
    """Whether the model reads only the beginning of this query. Short ones are not counted."""
    spec = embedder.spec
    most_tokens = len(spec.query_prefix) + len(query.encode()) + 2
    if most_tokens <= spec.window:
        return False
    return embedder.count_tokens([query], as_queries=True)[0] > spec.window


def explain_parts(spec: EmbeddingSpec) -> str:
    return (
        f"The query is longer than the {spec.window:,} tokens that the embedding model "
        f"{spec.model} reads, so it was searched by its parts, at most {MAX_PARTS}: the first and "
        "the last."
    )


def embed_by_parts(embedder: Embedder, query: str) -> DenseVector:
    """The mean of the parts' vectors, with that of the question."""
    limit = embedder.spec.window * _CHARS_PER_TOKEN
    sentences = _split(query, limit)
    parts: list[str] = []
    for sentence in dict.fromkeys(sentences):  # what is repeated is read once
        joined = f"{parts[-1]} {sentence}" if parts else sentence
        if parts and not is_too_long(embedder, joined):
            parts[-1] = joined
        else:
            parts.append(sentence)
    question, weight = _find_question(query, sentences)
    if len(parts) > MAX_PARTS:
        parts = [parts[0], *parts[1 - MAX_PARTS :]]
    *vectors, asked = embedder.embed_queries([*parts, question[-limit:]])
    mean = np.mean(vectors, axis=0)
    combined = mean / np.linalg.norm(mean) + weight * asked / np.linalg.norm(asked)
    return np.asarray(combined / np.linalg.norm(combined), np.float32)


def find_question(query: str) -> str:
    """The sentences with a question mark in a pasted text; empty if it has none, or is none."""
    if len(query) < PASTED_CHARS:
        return ""
    question, weight = _find_question(query, _split(query, PASTED_CHARS))
    return question if weight == _QUESTION_WEIGHT else ""


def encode_terms(spec: SparseSpec, query: str, *, has_vector: bool = False) -> SparseVector:
    """The query's terms. Of a pasted text, those of its question weigh as much as in its vector.
    Beside a vector, which has the rest, a question of several words is all that is looked for:
    where no passage has them, those of the text would rank passages that are like it."""
    vector = encode_sparse_query(spec, query)
    if len(query) < PASTED_CHARS:
        return vector
    question, weight = _find_question(query, _split(query, PASTED_CHARS))
    own = encode_sparse_query(spec, question)
    if has_vector and weight == _QUESTION_WEIGHT and len(own.indices) >= _OWN_TERMS:
        return own
    asked = set(own.indices).intersection(vector.indices)
    if not asked:
        return vector
    factor = max(1.0, weight * (len(vector.indices) - len(asked)) / len(asked))
    values = [
        value * factor if term in asked else value
        for term, value in zip(vector.indices, vector.values, strict=True)
    ]
    return SparseVector(vector.indices, values, vector.has_idf)


def _split(query: str, limit: int) -> list[str]:
    """The sentences of a query. In a pasted text, what follows a question may begin with a small
    letter or a digit."""
    query = _AFTER_QUESTION.sub("\n\n", query)
    sentences = split_long_sentences(query, find_sentences(query), limit)
    return [query[each.start : each.end] for each in sentences] or [query]


def _find_question(query: str, sentences: Sequence[str]) -> tuple[str, float]:
    """The sentences with a question mark, or the last one, which may begin with a small letter; and
    how much it counts. What fixes "this" is looked for with the lines that say what it is."""
    asked = [
        # lines without a full stop before it may seem to be its beginning
        each if len(each) <= _QUESTION_CHARS else each.splitlines()[-1]
        for each in sentences
        if each.rstrip("\"'”’») ").endswith(("?", "？", "؟"))
    ]
    if not asked:
        return _LAST.split(query.rstrip())[-1], 1.0
    question = " ".join(asked)
    lines = [each.strip() for each in query.splitlines() if not any(q in each for q in asked)]
    lines = list(filter(None, lines))
    if lines and _points_at_text(question):
        question = f"{question} {lines[0][:_LINE_CHARS]} {lines[-1][-_LINE_CHARS:]}"
    return question, _QUESTION_WEIGHT


def _points_at_text(question: str) -> bool:
    """Whether a question is about the text that is pasted with it: "How do I fix this?"."""
    words = compare_words(question)
    own = sum(not find_languages_of_stop_word(word) for word in words)
    return not own or (own <= _POINTING_TERMS and not _POINTING.isdisjoint(words))
