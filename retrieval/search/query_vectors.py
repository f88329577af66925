"""Embeds queries; they are searched by words alone where the model's endpoint does not answer."""

import logging
import re
from collections.abc import Collection, Sequence
from typing import Final

from indexing import embedding
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec
from indexing.stores import DenseVector
from retrieval.request_cache import once

logger = logging.getLogger(__name__)

# A model takes FY2018 apart into pieces that say little of a year: see decision 84.
_FISCAL_YEAR: Final = re.compile(r"\bFY ?(?=(?:19|20)[0-9]{2}(?![0-9]))")
NOTE_START: Final = "Found by words only: "


def embed_query(spec: EmbeddingSpec, query: str) -> DenseVector:
    """Raises ``EmbeddingUnavailable`` and ``ModelUnavailable``: as ``Embedder.embed_query``."""
    text = _spell_out_fiscal_years(query)
    return once((spec, query), lambda: embedding.get_embedder(spec).embed_query(text))


def embed_query_if_available(
    spec: EmbeddingSpec, query: str
) -> tuple[DenseVector | None, list[str]]:
    """The vector of a query; if the model's endpoint fails, None and a note that says so. Raises
    ``ModelLoading`` and ``ModelUnavailable``: of a model on this machine."""
    try:
        return embed_query(spec, query), []
    except (EmbeddingUnavailable, ModelUnavailable) as error:
        return None, _note_failure(spec, error)


def embed_queries_if_available(
    spec: EmbeddingSpec, queries: Sequence[str]
) -> tuple[Sequence[DenseVector] | None, list[str]]:
    """As ``embed_query_if_available``, of several queries in one batch."""
    if len(queries) == 1:
        vector, notes = embed_query_if_available(spec, queries[0])
        return None if vector is None else [vector], notes
    try:
        texts = [_spell_out_fiscal_years(query) for query in queries]
        return list(embedding.get_embedder(spec).embed_queries(texts)), []
    except (EmbeddingUnavailable, ModelUnavailable) as error:
        return None, _note_failure(spec, error)


def _spell_out_fiscal_years(query: str) -> str:
    return _FISCAL_YEAR.sub("fiscal year ", query)


def _note_failure(spec: EmbeddingSpec, error: Exception) -> list[str]:
    if spec.provider != "openai":
        raise error
    logger.warning("A query is searched by words only: %s", error)
    return [f"{NOTE_START}the endpoint of the embedding model {spec.model} failed."]


def require_vectors(notes: Collection[str]) -> None:
    """For measurements, which words alone would falsify. Raises ``EmbeddingUnavailable``: the notes
    of a search say that it was by words only."""
    for note in notes:
        if note.startswith(NOTE_START):
            raise EmbeddingUnavailable(note)
