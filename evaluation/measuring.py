"""Run every judged query on every system, and measure the rankings."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.judged_queries import JudgedQueries, format_page_name
from evaluation.measures import Measure, parse_measures
from evaluation.systems import RANKING_DEPTH, EvaluatedSystem, HitLocation

DEFAULT_MEASURES = ("nDCG@10", "R@100", "RR")
TOP_HIT_COUNT = 5  # hits per query stored for people to inspect

RESAMPLE_COUNT = 10_000
CONFIDENCE_LEVEL = 0.95
_SEED = 1993
_RESAMPLES_PER_BLOCK = 500  # resamples drawn at once, to limit memory


def bootstrap_confidence_interval(differences: Iterable[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap percentile interval of the mean of paired differences.

    The random seed is fixed: the same differences give the same interval.

    Source:
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13; for
        comparing two systems by the same queries: Sakai, "Evaluating Evaluation Metrics based
        on the Bootstrap", SIGIR 2006.
    """
    sample = np.asarray(list(differences), dtype=np.float64)
    random = np.random.default_rng(_SEED)
    means = np.concatenate(
        [
            sample[random.integers(len(sample), size=(_RESAMPLES_PER_BLOCK, len(sample)))].mean(
                axis=1
            )
            for _ in range(RESAMPLE_COUNT // _RESAMPLES_PER_BLOCK)
        ]
    )
    tail = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def measure_difference(before: Sequence[float], after: Sequence[float]) -> dict[str, float]:
    """Return the mean of the differences, and the ends of its interval: ``difference``, ``low`` and
    ``high``. The values are given for the same queries in the same order."""
    differences = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    low, high = bootstrap_confidence_interval(differences)
    return {"difference": float(differences.mean()), "low": low, "high": high}


@dataclass(slots=True)
class SystemMeasurement:
    """The measurements of one system. ``values_by_measure``: for each measure, one value per query,
    in query order. ``latencies_ms``: of each query's first page. ``top_locations``: of each query's
    first hits."""

    system: str
    values_by_measure: dict[str, list[float]] = field(default_factory=dict)
    latencies_ms: list[float] = field(default_factory=list)
    top_locations: dict[str, list[HitLocation]] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        return {name: float(np.mean(values)) for name, values in self.values_by_measure.items()}


def measure_systems(
    systems: Sequence[EvaluatedSystem],
    judged: JudgedQueries,
    *,
    measures: Sequence[str] = DEFAULT_MEASURES,
    before_each_answer: Callable[[], None] = lambda: None,
    is_timed: bool = True,
) -> list[SystemMeasurement]:
    """Run every query on every system. The systems alternate query by query, so that other load on
    the machine affects all of them alike.

    ``judged`` names artifacts by their ids. ``before_each_answer`` is called before each answer;
    an exception in it ends the measurement. Errors of the systems are raised unchanged.
    ``is_timed``: whether to run the search for the first page as well, and measure its time."""
    parsed = parse_measures(measures)
    measured = [SystemMeasurement(system.name) for system in systems]
    rankings: list[dict[str, list[str]]] = [{} for _ in systems]
    for system in systems if is_timed else ():  # warm up: loads the models
        system.answer_first_page(next(iter(judged.queries.values())))
    for query_id, query in judged.queries.items():
        for system, each, ranking in zip(systems, measured, rankings, strict=True):
            before_each_answer()
            if is_timed:
                started = time.perf_counter()
                system.answer_first_page(query)
                each.latencies_ms.append((time.perf_counter() - started) * 1_000)
            locations = deduplicate_locations(system.rank_locations(query), judged.qrels[query_id])
            ranking[query_id] = list(locations)
            each.top_locations[query_id] = list(locations.values())[:TOP_HIT_COUNT]
    for each, ranking in zip(measured, rankings, strict=True):
        each.values_by_measure = compute_measures(parsed, judged, ranking)
    return measured


def deduplicate_locations(
    locations: Iterable[HitLocation], grades: Mapping[str, int]
) -> dict[str, HitLocation]:
    """Rank each judged page or artifact once, best first, down to ``RANKING_DEPTH``. A hit counts
    for its page if that page was judged, and otherwise for its artifact."""
    ranked: dict[str, HitLocation] = {}
    for location in locations:
        key = location.artifact_id
        if location.page_index is not None:
            page = format_page_name(location.artifact_id, location.page_index)
            key = page if page in grades else key
        ranked.setdefault(key, location)
        if len(ranked) == RANKING_DEPTH:
            break
    return ranked


def compare_to_baseline(
    system: SystemMeasurement, baseline: SystemMeasurement
) -> dict[str, dict[str, Any]]:
    """Return the difference (system − baseline) by measure of two systems that answered the same
    queries. It is significant if its confidence interval excludes zero."""
    differences = {
        name: measure_difference(baseline.values_by_measure[name], values)
        for name, values in system.values_by_measure.items()
    }
    return {
        name: {
            "baseline": baseline.means[name],
            "system": system.means[name],
            **each,
            "is_significant": each["low"] > 0 or each["high"] < 0,
        }
        for name, each in differences.items()
    }


def compute_measures(
    measures: Iterable[Measure], judged: JudgedQueries, rankings: Mapping[str, Sequence[str]]
) -> dict[str, list[float]]:
    """Return each measure's values in query order. ``rankings``: query id -> documents."""
    return {
        str(measure): [measure.compute(rankings[id], judged.qrels[id]) for id in judged.queries]
        for measure in measures
    }
