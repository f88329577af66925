"""Embeds queries, and adds to them the other names of what they mention. They are searched by words
alone where the model's endpoint does not answer."""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, TypeAlias

import numpy as np

from indexing import embedding
from indexing.embedding.vectors import Vectors
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec
from indexing.stores import DenseVector
from retrieval.request_cache import once
from retrieval.search.long_queries import embed_by_parts, explain_parts, is_too_long
from text.fiscal_years import spell_out_fiscal_years
from text.plain_spelling import spell_signs
from text.words import fold_words

logger = logging.getLogger(__name__)

NOTE_START: Final = "Found by words only: "

SynonymGroups: TypeAlias = tuple[tuple[str, ...], ...]  # names of the same thing in each


def embed_query(spec: EmbeddingSpec, query: str) -> DenseVector:
    """Embed a query, once in a request. Raises ``EmbeddingUnavailable`` and ``ModelUnavailable``:
    as ``Embedder.embed_query``."""
    # A model takes FY2018 apart into pieces that say little of a year: see decision 84.
    text = spell_out_fiscal_years(query)
    return once((spec, query), lambda: _embed(embedding.get_embedder(spec), text))


def _embed(embedder: embedding.Embedder, text: str) -> DenseVector:
    if is_too_long(embedder, text):
        return embed_by_parts(embedder, text)
    return embedder.embed_query(text)


def embed_queries(spec: EmbeddingSpec, queries: Sequence[str]) -> Vectors:
    """(queries, dimension); raises as ``embed_query``."""
    texts = [spell_out_fiscal_years(query) for query in queries]
    embedder = embedding.get_embedder(spec)
    if any(is_too_long(embedder, text) for text in texts):
        return np.stack([_embed(embedder, text) for text in texts])
    return embedder.embed_queries(texts)


def explain_long_queries(spec: EmbeddingSpec, queries: Sequence[str]) -> list[str]:
    """A note if one of these queries, which are embedded, is longer than its model reads."""
    embedder = embedding.get_embedder(spec)
    if any(is_too_long(embedder, spell_out_fiscal_years(query)) for query in queries):
        return [explain_parts(spec)]
    return []


def embed_queries_if_available(
    spec: EmbeddingSpec, queries: Sequence[str]
) -> tuple[Sequence[DenseVector | None], list[str]]:
    """The vectors of queries, several in one batch; if the model's endpoint fails, Nones and a note
    that says so. Raises ``ModelLoading`` and ``ModelUnavailable``: of a model on this machine."""
    try:
        if len(queries) == 1:
            return [embed_query(spec, queries[0])], []
        return list(embed_queries(spec, queries)), []
    except (EmbeddingUnavailable, ModelUnavailable) as error:
        if spec.provider != "openai":
            raise
        logger.warning("A query is searched by words only: %s", error)
        note = f"{NOTE_START}the endpoint of the embedding model {spec.model} failed."
        return [None] * len(queries), [note]


def require_vectors(notes: Collection[str]) -> None:
    """For measurements, which words alone would falsify. Raises ``EmbeddingUnavailable``: the notes
    of a search say that it was by words only."""
    for note in notes:
        if note.startswith(NOTE_START):
            raise EmbeddingUnavailable(note)


# --- Synonyms --------------------------------------------------------------------------------


def add_synonyms(query: str, groups: SynonymGroups) -> str:
    """The query, followed by the other names, which the model and the words of a search then see.
    Case and accents do not matter; a name is found as whole words, and C++ is not C."""
    if not groups:
        return query
    words = fold_words(spell_signs(query))
    mentioned = find_names(words, groups)
    known = {words[start:end] for start, end in mentioned}
    found = dict.fromkeys(chain.from_iterable(mentioned.values()))
    return " ".join(
        [query, *(name for name in found if fold_words(spell_signs(name)) not in known)]
    )


def find_names(
    words: Sequence[str], groups: SynonymGroups
) -> dict[tuple[int, int], tuple[str, ...]]:
    """Where the folded words have names of these groups (first word, and the word after the last),
    and all names of the groups of each."""
    if not groups:
        return {}
    names_by_run = _list_names(groups)
    longest = max(map(len, names_by_run))
    spans = (
        (start, end)
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
    )
    runs = ((span, tuple(words[slice(*span)])) for span in spans)
    return {span: names_by_run[run] for span, run in runs if run in names_by_run}


@lru_cache(maxsize=256)
def _list_names(groups: SynonymGroups) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """The folded words of each name, with the names of its groups."""
    names: defaultdict[tuple[str, ...], tuple[str, ...]] = defaultdict(tuple)
    for group in groups:
        for name in group:
            names[fold_words(spell_signs(name))] += group
    return names
