"""What both engines share: they speak Qdrant's query language, each with classes of its own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from indexing.stores.base import (
    AllOf,
    AnyOf,
    DenseVector,
    Filter,
    Match,
    MatchText,
    Not,
    Query,
    Range,
    RankFusion,
    ScoredPoint,
    SparseVector,
)

DENSE = "dense"
SPARSE = "sparse"
UPSERT_BATCH = 500  # points: some megabytes, as both a request body and a log entry must stay small

# Fetched beyond the page, so that a tie across its edge is broken by id and not by the engine,
# which orders equal fused scores differently from call to call.
TIE_MARGIN = 6


@dataclass(frozen=True, slots=True)
class FilterTypes:
    """One engine's classes for filters; their keyword arguments are the same."""

    filter: Callable[..., Any]
    field: Callable[..., Any]
    value: Callable[..., Any]
    any_value: Callable[..., Any]
    text: Callable[..., Any]
    number_range: Callable[..., Any]
    datetime_range: Callable[..., Any]
    bool_value: Callable[[bool], Any] = bool

    def translate(self, filter: Filter) -> Any:
        """The engine's own filter, equal to ``filter``."""
        match filter:
            case Match(field, values):
                return self._equals_any(field, values)
            case MatchText(field, text):
                return self.filter(must=[self.field(key=field, match=self.text(text=text))])
            case Range():
                return self.filter(must=[self._within(filter)])
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

    def _equals_any(self, field: str, values: Sequence[str | int | float | bool]) -> Any:
        types = {type(value) for value in values}
        if len(values) > 1 and (types == {str} or types == {int}):
            match = self.any_value(any=list(values))  # one look-up in the field's index
            return self.filter(must=[self.field(key=field, match=match)])
        return self._any_of([self._equals(field, value) for value in values])

    def _equals(self, field: str, value: str | int | float | bool) -> Any:
        if isinstance(value, float):  # the engines match floats by range only
            return self.field(key=field, range=self.number_range(gte=value, lte=value))
        if isinstance(value, bool):
            value = self.bool_value(value)
        return self.field(key=field, match=self.value(value=value))

    def _within(self, range: Range) -> Any:
        bounds = {
            name: bound
            for name in ("gte", "gt", "lte", "lt")
            if (bound := getattr(range, name)) is not None
        }
        is_datetime = any(isinstance(bound, str) for bound in bounds.values())
        make = self.datetime_range if is_datetime else self.number_range
        return self.field(key=range.field, range=make(**bounds))


@dataclass(frozen=True, slots=True)
class Ranking:
    """One vector's part in a search."""

    using: str
    vector: DenseVector | SparseVector
    weight: float


def rankings_of(query: Query) -> list[Ranking]:
    """The vectors that take part: those that are there, say something and carry weight.

    Raises:
        ValueError: two vectors and no way to fuse them.
    """
    fusion = query.fusion or RankFusion()
    rankings = []
    if query.dense is not None and fusion.dense_weight > 0:
        rankings.append(Ranking(DENSE, query.dense, fusion.dense_weight))
    if query.sparse is not None and query.sparse.indices and fusion.sparse_weight > 0:
        rankings.append(Ranking(SPARSE, query.sparse, fusion.sparse_weight))
    if query.fusion is None and query.dense is not None and query.sparse is not None:
        raise ValueError("A search with both vectors needs a fusion.")
    return rankings


def fetch_limit(query: Query) -> int:
    return query.offset + query.limit + TIE_MARGIN


def cut_page(points: Iterable[ScoredPoint], query: Query) -> list[ScoredPoint]:
    """The page the query asks for, of the best ``fetch_limit`` points in whatever order."""
    ranked = sorted(points, key=lambda point: (-point.score, point.id))
    if query.min_score is not None:
        ranked = [point for point in ranked if point.score >= query.min_score]
    return ranked[query.offset : query.offset + query.limit]


def native_rrf_k(k: int) -> int:
    """Qdrant counts ranks from 0, so its ``k`` is one more for the same scores."""
    return k + 1


def has_equal_weights(rankings: Sequence[Ranking]) -> bool:
    """Whether Qdrant's own fusion gives our scores.

    Its weights scale the ranks (``1 / (k + rank / weight)``), not the shares, and agree with
    ours where all are 1. Otherwise each ranking is turned into reciprocal ranks by itself and a
    formula sums those with their weights, within the same request.
    """
    return all(ranking.weight == 1 for ranking in rankings)


def order_facet(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The values that most points hold first, ties by value; none that no point holds any more."""
    held = (each for each in counted if each[1] > 0)
    return dict(sorted(held, key=lambda each: (-each[1], each[0])))
