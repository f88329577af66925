"""Embeds queries, and adds to them the other names of what they mention. They are searched by words
alone where the model's endpoint does not answer."""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final

from core.fiscal_years import spell_out_fiscal_years
from indexing import embedding
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec, SearchSpec
from indexing.stores import DenseVector
from retrieval.request_cache import once
from retrieval.words import fold_words

logger = logging.getLogger(__name__)

NOTE_START: Final = "Found by words only: "


def embed_query(spec: EmbeddingSpec, query: str) -> DenseVector:
    """Raises ``EmbeddingUnavailable`` and ``ModelUnavailable``: as ``Embedder.embed_query``."""
    # A model takes FY2018 apart into pieces that say little of a year: see decision 84.
    text = spell_out_fiscal_years(query)
    return once((spec, query), lambda: embedding.get_embedder(spec).embed_query(text))


def embed_queries_if_available(
    spec: EmbeddingSpec, queries: Sequence[str]
) -> tuple[Sequence[DenseVector | None], list[str]]:
    """The vectors of queries, several in one batch; if the model's endpoint fails, Nones and a note
    that says so. Raises ``ModelLoading`` and ``ModelUnavailable``: of a model on this machine."""
    try:
        if len(queries) == 1:
            return [embed_query(spec, queries[0])], []
        texts = [spell_out_fiscal_years(query) for query in queries]
        return list(embedding.get_embedder(spec).embed_queries(texts)), []
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


def add_synonyms(query: str, search: SearchSpec) -> str:
    """The query, followed by the other names, which the model and the words of a search then see.
    Case and accents do not matter; a name is found as whole words."""
    return " ".join([query, *find_synonyms(query, search)])


def find_synonyms(query: str, search: SearchSpec) -> list[str]:
    if not search.synonyms:
        return []
    groups = _groups_by_name(search)
    words = fold_words(query)
    longest = max(map(len, groups))
    runs = (
        words[start:end]
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
    )
    mentioned = dict.fromkeys(run for run in runs if run in groups)
    found = (name for run in mentioned for group in groups[run] for name in group)
    return list(dict.fromkeys(name for name in found if fold_words(name) not in mentioned))


@lru_cache(maxsize=256)
def _groups_by_name(search: SearchSpec) -> Mapping[tuple[str, ...], list[tuple[str, ...]]]:
    groups = defaultdict(list)
    for group in search.synonyms:
        for name in group:
            groups[fold_words(name)].append(group)
    return groups
