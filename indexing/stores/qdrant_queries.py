"""Query building shared by both stores: the same Qdrant query language, in different classes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from indexing.stores.base import (
    AllOf,
    AnyOf,
    DenseVector,
    Empty,
    Filter,
    Match,
    MatchText,
    Not,
    Query,
    Range,
    ScoredPoint,
    SparseVector,
)

UUID_MAX = 2**128 - 1
DENSE = "dense"
SPARSE = "sparse"
UPSERT_BATCH = 500  # points: some megabytes, because request bodies and log entries must stay small

MAX_SINGLE_VALUES = 4  # compared one by one

# Points fetched beyond the page, so that ties at its edge are ordered by id. The engine orders
# equal fused scores differently in each call.
TIE_MARGIN = 6


@dataclass(frozen=True, slots=True)
class FilterTranslator:
    """Translates filters into the classes of one Qdrant library; both have the same arguments."""

    filter: Callable[..., Any]
    field: Callable[..., Any]
    value: Callable[..., Any]
    any_value: Callable[..., Any]
    text: Callable[..., Any]
    number_range: Callable[..., Any]
    datetime_range: Callable[..., Any]
    is_empty: Callable[[str], Any]
    bool_value: Callable[[bool], Any] = bool

    def translate(self, filter: Filter) -> Any:
        """The engine's equivalent of ``filter``."""
        match filter:
            case Match(field, values):
                return self._translate_match(field, values)
            case MatchText(field, text):
                return self.filter(must=[self.field(key=field, match=self.text(text=text))])
            case Range():
                return self.filter(must=[self._translate_range(filter)])
            case Empty(field):
                return self.filter(must=[self.is_empty(field)])
            case AllOf(filters):
                return self.filter(must=[self.translate(each) for each in filters] or None)
            case AnyOf(filters):
                return self._any_of([self.translate(each) for each in filters])
            case Not(negated):
                return self.filter(must_not=[self.translate(negated)])

    def _any_of(self, conditions: list[Any]) -> Any:
        if not conditions:
            return self.filter(must_not=[self.filter()])  # an empty ``should`` matches everything
        return self.filter(should=conditions)

    def _translate_match(self, field: str, values: Sequence[str | int | float | bool]) -> Any:
        types = {type(value) for value in values}
        # Few values one by one: the engine checks that in half the time of a list of values.
        if len(values) > MAX_SINGLE_VALUES and (types == {str} or types == {int}):
            match = self.any_value(any=list(values))  # one look-up in the field's index
            return self.filter(must=[self.field(key=field, match=match)])
        return self._any_of([self._equals(field, value) for value in values])

    def _equals(self, field: str, value: str | int | float | bool) -> Any:
        if isinstance(value, float):  # the engines match floats by range only
            return self.field(key=field, range=self.number_range(gte=value, lte=value))
        if isinstance(value, bool):
            value = self.bool_value(value)
        return self.field(key=field, match=self.value(value=value))

    def _translate_range(self, range: Range) -> Any:
        bounds = {
            name: bound
            for name in ("gte", "gt", "lte", "lt")
            if (bound := getattr(range, name)) is not None
        }
        is_datetime = any(isinstance(bound, str) for bound in bounds.values())
        make = self.datetime_range if is_datetime else self.number_range
        return self.field(key=range.field, range=make(**bounds))


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """One vector of a search, with its name."""

    using: str
    vector: DenseVector | SparseVector

    @property
    def has_idf(self) -> bool:
        return isinstance(self.vector, SparseVector) and self.vector.has_idf


def get_vector_queries(query: Query) -> list[VectorQuery]:
    """Return the vectors to search with: those that are given and not empty. Raises ``ValueError``:
    two vectors are given without a fusion."""
    vector_queries = []
    if query.dense is not None:
        vector_queries.append(VectorQuery(DENSE, query.dense))
    if query.sparse is not None and query.sparse.indices:
        vector_queries.append(VectorQuery(SPARSE, query.sparse))
    if query.fusion is None and query.dense is not None and query.sparse is not None:
        raise ValueError("A search with both vectors needs a fusion.")
    return vector_queries


def compute_fetch_limit(query: Query) -> int:
    return query.offset + query.limit + TIE_MARGIN


def paginate_points(points: Iterable[ScoredPoint], query: Query) -> list[ScoredPoint]:
    """The page that the query requests, from the best ``compute_fetch_limit`` points in any
    order."""
    ranked = sorted(points, key=lambda point: (-point.score, point.id))
    if query.min_score is not None:
        ranked = [point for point in ranked if point.score >= query.min_score]
    return ranked[query.offset : query.offset + query.limit]


def to_qdrant_rrf_k(k: int) -> int:
    """Qdrant counts ranks from 0, so its ``k`` is one more for the same scores."""
    return k + 1


def to_offset(after: UUID | None) -> str | None:
    """The id at which a scroll after this one starts: an offset is included in its page."""
    return None if after is None else str(UUID(int=min(after.int + 1, UUID_MAX)))


def sort_facet_counts(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Sort facet values by descending count, ties by value; drop those whose count is 0."""
    nonzero = (each for each in counted if each[1] > 0)
    return dict(sorted(nonzero, key=lambda each: (-each[1], each[0])))
