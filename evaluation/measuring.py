"""Systems ask every judged query, and what they rank is measured."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.exceptions import InvalidInput
from evaluation.bootstrap import bootstrap_interval
from evaluation.judgements import Judgements, name_page
from evaluation.systems import RANKED, Place, System

DEFAULT_MEASURES = ("nDCG@10", "R@100", "RR")
SHOWN = 5  # of a query's ranking, kept for people to look at


@dataclass(frozen=True, slots=True)
class Measured:
    """What one system did. ``values``: by measure, one for each query in their order.
    ``milliseconds``: of a first page for each. ``best``: where its first hits were, by query."""

    system: str
    values: dict[str, list[float]]
    milliseconds: list[float]
    best: dict[str, list[Place]]

    @property
    def means(self) -> dict[str, float]:
        return {name: float(np.mean(values)) for name, values in self.values.items()}

    def percentile_ms(self, percent: float) -> float:
        return float(np.percentile(self.milliseconds, percent))


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one measure, system − baseline, with its interval of confidence."""

    baseline: float
    system: float
    difference: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Whether chance does not explain it: the interval leaves zero out."""
        return self.low > 0 or self.high < 0


@dataclass(slots=True)
class _Asked:
    run: dict[str, dict[str, float]] = field(default_factory=dict)  # as ir_measures takes it
    milliseconds: list[float] = field(default_factory=list)
    best: dict[str, list[Place]] = field(default_factory=dict)


def parse_measures(names: Iterable[str]) -> list[Any]:
    """
    Raises:
        InvalidInput: a name ir_measures does not know, or none at all.
    """
    import ir_measures

    measures = []
    for name in names:
        try:
            measures.append(ir_measures.parse_measure(name))
        except (NameError, ValueError, SyntaxError, TypeError):
            raise InvalidInput(
                f"{name[:100]!r} is no measure.",
                field="measures",
                fix="Name them as ir_measures does: nDCG@10, R@100, RR, P@5.",
            ) from None
    if not measures:
        raise InvalidInput("Name a measure.", field="measures")
    return measures


def measure_systems(
    systems: Sequence[System],
    judged: Judgements,
    *,
    measures: Sequence[str] = DEFAULT_MEASURES,
    before_each: Callable[[], None] = lambda: None,
) -> list[Measured]:
    """Have every system answer every query, turn by turn, so that whatever else the machine does
    meets them all.

    ``judged`` names artifacts by their ids. ``before_each`` is called before each answer; what it
    raises ends it. Raises whatever the systems do.
    """
    parsed = parse_measures(measures)
    asked = {system.name: _Asked() for system in systems}
    for system in systems:  # loads the models
        system.ask(next(iter(judged.queries.values())))
    for query_id, query in judged.queries.items():
        for system in systems:
            before_each()
            each = asked[system.name]
            started = time.perf_counter()
            system.ask(query)
            each.milliseconds.append((time.perf_counter() - started) * 1_000)
            places = rank_places(system.rank(query), judged.qrels[query_id])
            # Ranks, not scores: equal scores would be put in an order of their own.
            each.run[query_id] = {key: float(-rank) for rank, key in enumerate(places)}
            each.best[query_id] = list(places.values())[:SHOWN]
    return [
        Measured(name, measure_queries(parsed, judged, each.run), each.milliseconds, each.best)
        for name, each in asked.items()
    ]


def rank_places(found: Iterable[Place], judged: Mapping[str, int]) -> dict[str, Place]:
    """The best places by what was judged: the page where that page was, else its artifact. Each
    once, as many as measures look at."""
    ranked: dict[str, Place] = {}
    for place in found:
        key = place.artifact_id
        if place.page_index is not None:
            page = name_page(place.artifact_id, place.page_index)
            key = page if page in judged else key
        ranked.setdefault(key, place)
        if len(ranked) == RANKED:
            break
    return ranked


def compare(system: Measured, baseline: Measured) -> dict[str, Difference]:
    """By measure, for two that answered the same queries."""
    return {
        name: measure_difference(baseline.values[name], values)
        for name, values in system.values.items()
    }


def measure_difference(baseline: Sequence[float], system: Sequence[float]) -> Difference:
    """Of one measure, given for the same queries in the same order."""
    differences = np.asarray(system, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    low, high = bootstrap_interval(differences)
    return Difference(
        baseline=float(np.mean(baseline)),
        system=float(np.mean(system)),
        difference=float(differences.mean()),
        low=low,
        high=high,
    )


def measure_queries(
    measures: Sequence[Any], judged: Judgements, run: Mapping[str, Mapping[str, float]]
) -> dict[str, list[float]]:
    """By measure, a value for each query in their order. ``run``: query id -> document -> score."""
    import ir_measures

    values: dict[str, dict[str, float]] = {str(measure): {} for measure in measures}
    for metric in ir_measures.iter_calc(list(measures), judged.qrels, run):
        values[str(metric.measure)][metric.query_id] = float(metric.value)
    return {
        name: [found[query_id] for query_id in judged.queries] for name, found in values.items()
    }
