"""Encodes texts as sparse vectors by BM25 or, where the spec names one, by a learned model."""

from collections.abc import Sequence
from typing import Protocol

from indexing.embedding.sparse_model import SparseModel, Terms, get_sparse_model_loader
from indexing.spec import SparseSpec
from indexing.stores import SparseVector, get_bm25_encoder


class SparseEncoder(Protocol):
    def encode_documents(self, texts: Sequence[str]) -> list[SparseVector]: ...

    def encode_query(self, text: str) -> SparseVector:
        """Empty if it holds nothing to search for, such as only punctuation."""
        ...


class LearnedEncoder:
    """A learned model as an encoder."""

    def __init__(self, model: SparseModel, *, has_idf: bool) -> None:
        self._model = model
        self._has_idf = has_idf

    def encode_documents(self, texts: Sequence[str]) -> list[SparseVector]:
        return [self._to_vector(terms) for terms in self._model.encode_documents(texts)]

    def encode_query(self, text: str) -> SparseVector:
        return self._to_vector(self._model.encode_query(text))

    def _to_vector(self, terms: Terms) -> SparseVector:
        return SparseVector(*terms, has_idf=self._has_idf)


def get_sparse_encoder(spec: SparseSpec) -> SparseEncoder:
    """The encoder of a spec. Raises ``ModelLoading`` and ``ModelUnavailable``: its learned model is
    not loaded; it is tried again in the background."""
    if spec.model is None:
        return get_bm25_encoder(spec)
    return LearnedEncoder(get_sparse_model_loader(spec.model).get(), has_idf=spec.has_idf)


def encode_sparse_query(spec: SparseSpec, text: str) -> SparseVector:
    """A query as ``get_sparse_encoder`` encodes it; raises as it does."""
    return get_sparse_encoder(spec).encode_query(text)
