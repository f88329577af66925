"""Render an evaluation run as one self-contained HTML page: no script, no font, no network.

This module computes the layout of its SVG plots, ``WIDTH`` by ``HEIGHT`` units each;
``templates/evaluation/report.html`` draws them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string

from core.exceptions import InvalidInput
from evaluation.history import find_earlier_runs
from evaluation.models import EvaluationRun

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
WIDTH, HEIGHT = 720, 200
_SHOWN_QUERY_COUNT = 15  # queries per list
_MAX_BAR_STEP = 24  # units from one bar to the next
_BAR_GAP = 0.15  # share of the step
_MEASURE_NAMES = {"RR": "MRR"}


def format_measure_name(name: str) -> str:
    """Return the common name of a measure, such as recall@100 for R@100 and MRR for RR."""
    return f"recall@{name[2:]}" if name.startswith("R@") else _MEASURE_NAMES.get(name, name)


def render_report(run: EvaluationRun) -> str:
    """
    Raises:
        InvalidInput: the run is not finished.
    """
    if run.state != EvaluationRun.State.DONE:
        raise InvalidInput(
            f"The evaluation is {run.state}; it has no report until it is done.", field="id"
        )
    first = run.measures[0]
    values: dict[str, dict[str, list[float]]] = run.details["values"]
    return render_to_string(
        "evaluation/report.html",
        {
            "policy": REPORT_POLICY,
            "run": run,
            "first": format_measure_name(first),
            "measures": [format_measure_name(name) for name in run.measures],
            "rows": [_make_system_row(row, run) for row in run.results],
            "spreads": [
                ValueDistribution.from_values(system, by_measure[first])
                for system, by_measure in values.items()
            ],
            "changes": [
                QueryDifferences.from_values(
                    run, system, by_measure[first], values[run.baseline][first]
                )
                for system, by_measure in values.items()
                if run.baseline and system != run.baseline
            ],
            "worst": _find_worst_queries(run, values, first),
            "history": MeasureHistory.from_runs(run, first),
            "width": WIDTH,
            "height": HEIGHT,
        },
    )


# --- Figures ---------------------------------------------------------------------------------


def _make_system_row(result: Mapping[str, Any], run: EvaluationRun) -> dict[str, Any]:
    differences = result.get("differences", {})
    return {
        "system": result["system"],
        "is_baseline": result["system"] == run.baseline,
        "p50_ms": result["p50_ms"],
        "p95_ms": result["p95_ms"],
        "cells": [
            {"value": result["measures"][name], "difference": differences.get(name)}
            for name in run.measures
        ],
    }


# --- Plots -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    is_loss: bool
    label: str


@dataclass(frozen=True, slots=True)
class ValueDistribution:
    """One system's values of all queries in descending order, plotted as a line."""

    system: str
    points: str
    perfect_count: int
    zero_count: int

    @classmethod
    def from_values(cls, system: str, values: Sequence[float]) -> "ValueDistribution":
        descending = sorted(values, reverse=True)
        step = WIDTH / max(len(descending), 1)
        corners = []
        for n, value in enumerate(descending):
            y = HEIGHT * (1 - value)
            corners += [f"{n * step:.1f},{y:.1f}", f"{(n + 1) * step:.1f},{y:.1f}"]
        return cls(
            system=system,
            points=" ".join(corners),
            perfect_count=sum(value >= 1 for value in values),
            zero_count=sum(value <= 0 for value in values),
        )


@dataclass(frozen=True, slots=True)
class QueryDifferences:
    """Each query's gain or loss against the baseline, greatest gains first."""

    system: str
    bars: list[Bar]
    gained_count: int
    lost_count: int
    gains: list[dict[str, Any]]
    losses: list[dict[str, Any]]

    @classmethod
    def from_values(
        cls, run: EvaluationRun, system: str, values: Sequence[float], baseline: Sequence[float]
    ) -> "QueryDifferences":
        order: list[str] = run.details["queries"]
        differences = [
            (value - before, query_id)
            for value, before, query_id in zip(values, baseline, order, strict=True)
        ]
        descending = sorted(differences, key=lambda each: -each[0])
        changed = [each for each in descending if each[0] != 0]
        step = min(WIDTH / max(len(changed), 1), _MAX_BAR_STEP)
        middle = HEIGHT / 2
        bars = [
            Bar(
                x=round(n * step, 2),
                y=round(middle - max(difference, 0) * middle, 2),
                width=round(step * (1 - _BAR_GAP), 2),
                height=round(abs(difference) * middle, 2),
                is_loss=difference < 0,
                label=f"{difference:+.3f} {run.queries[query_id]}",
            )
            for n, (difference, query_id) in enumerate(changed)
        ]
        returned = run.details["returned"]
        gains = [each for each in changed if each[0] > 0 and each[1] in returned][
            :_SHOWN_QUERY_COUNT
        ]
        losses = [each for each in changed[::-1] if each[0] < 0 and each[1] in returned][
            :_SHOWN_QUERY_COUNT
        ]
        shown = [run.baseline, system]
        return cls(
            system=system,
            bars=bars,
            gained_count=sum(difference > 0 for difference, _ in changed),
            lost_count=sum(difference < 0 for difference, _ in changed),
            gains=[
                _describe_query(run, query_id, shown, difference) for difference, query_id in gains
            ],
            losses=[
                _describe_query(run, query_id, shown, difference) for difference, query_id in losses
            ],
        )


@dataclass(frozen=True, slots=True)
class MeasureHistory:
    """One measure over the runs of the same queries, oldest first and this run last. A system has
    no point for runs that did not measure it."""

    runs: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    systems: list[str]

    @classmethod
    def from_runs(cls, run: EvaluationRun, measure: str) -> "MeasureHistory":
        runs = [each for each in [*find_earlier_runs(run), run] if measure in each.measures]
        found = [{row["system"]: row["measures"][measure] for row in each.results} for each in runs]
        systems = list(dict.fromkeys(name for values in found for name in values))
        step = WIDTH / max(len(runs) - 1, 1)
        lines = []
        for system in systems:
            dots = [
                {"x": round(n * step, 1), "y": round(HEIGHT * (1 - values[system]), 1)}
                for n, values in enumerate(found)
                if system in values
            ]
            points = " ".join(f"{dot['x']},{dot['y']}" for dot in dots)
            lines.append({"system": system, "dots": dots, "points": points})
        rows = [
            {"run": each, "values": [values.get(system) for system in systems]}
            for each, values in zip(runs, found, strict=True)
        ]
        return cls(rows, lines, systems)


# --- Queries ---------------------------------------------------------------------------------


def _find_worst_queries(
    run: EvaluationRun, values: Mapping[str, Mapping[str, Sequence[float]]], measure: str
) -> list[dict[str, Any]]:
    """Return the queries with the lowest values of the run's first system."""
    first = run.systems[0]
    ascending = sorted(
        zip(values[first][measure], run.details["queries"], strict=True), key=lambda each: each[0]
    )
    returned = run.details["returned"]
    worst = [query_id for value, query_id in ascending if value < 1 and query_id in returned]
    return [_describe_query(run, query_id, run.systems) for query_id in worst[:_SHOWN_QUERY_COUNT]]


def _describe_query(
    run: EvaluationRun, query_id: str, systems: Sequence[str], difference: float | None = None
) -> dict[str, Any]:
    """Return a query's text, its relevant documents, and what each system returned for it."""
    position = run.details["queries"].index(query_id)
    measure = run.measures[0]
    returned = run.details["returned"][query_id]
    judged = run.qrels[query_id]
    return {
        "text": run.queries[query_id],
        "difference": difference,
        "expected": [name for name, grade in judged.items() if grade > 0],
        "answers": [
            {
                "system": system,
                "value": run.details["values"][system][measure][position],
                "hits": returned[system],
            }
            for system in systems
        ],
    }
