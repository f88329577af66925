"""A run as one page of HTML that needs nothing else: no script, no font, no network.

Plots are SVG inside it, laid out here in a box of ``WIDTH`` by ``HEIGHT`` units and drawn by
``templates/evaluation/report.html``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string

from core.exceptions import InvalidInput
from evaluation.history import earlier_runs
from evaluation.models import EvaluationRun

WIDTH, HEIGHT = 720, 200
_SHOWN = 15  # queries of a kind
_MAX_STEP = 24  # from one bar to the next
_BAR_GAP = 0.15  # of that
_MEASURE_NAMES = {"RR": "MRR"}


def say_measure(name: str) -> str:
    """As people say it: recall@100 for R@100, MRR for RR."""
    return f"recall@{name[2:]}" if name.startswith("R@") else _MEASURE_NAMES.get(name, name)


def render_report(run: EvaluationRun) -> str:
    """
    Raises:
        InvalidInput: the run is not finished.
    """
    if run.state != EvaluationRun.State.DONE:
        raise InvalidInput(
            f"This evaluation is {run.state}; there is a report once it is done.", field="id"
        )
    first = run.measures[0]
    values: dict[str, dict[str, list[float]]] = run.details["values"]
    return render_to_string(
        "evaluation/report.html",
        {
            "run": run,
            "first": say_measure(first),
            "measures": [say_measure(name) for name in run.measures],
            "rows": [_make_row(row, run) for row in run.results],
            "spreads": [
                Spread.of(system, by_measure[first]) for system, by_measure in values.items()
            ],
            "changes": [
                Change.of(run, system, by_measure[first], values[run.baseline][first])
                for system, by_measure in values.items()
                if run.baseline and system != run.baseline
            ],
            "worst": _find_worst(run, values, first),
            "history": History.of(run, first),
            "width": WIDTH,
            "height": HEIGHT,
        },
    )


# --- Figures ---------------------------------------------------------------------------------


def _make_row(result: Mapping[str, Any], run: EvaluationRun) -> dict[str, Any]:
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
class Spread:
    """How many queries have at least such a value: all of them in falling order, as a line."""

    system: str
    points: str
    perfect: int
    zero: int

    @classmethod
    def of(cls, system: str, values: Sequence[float]) -> "Spread":
        falling = sorted(values, reverse=True)
        step = WIDTH / max(len(falling), 1)
        corners = []
        for n, value in enumerate(falling):
            y = HEIGHT * (1 - value)
            corners += [f"{n * step:.1f},{y:.1f}", f"{(n + 1) * step:.1f},{y:.1f}"]
        return cls(
            system=system,
            points=" ".join(corners),
            perfect=sum(value >= 1 for value in values),
            zero=sum(value <= 0 for value in values),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """Query by query, what a system gains or loses to the baseline: greatest gains first."""

    system: str
    bars: list[Bar]
    gained: int
    lost: int
    gains: list[dict[str, Any]]
    losses: list[dict[str, Any]]

    @classmethod
    def of(
        cls, run: EvaluationRun, system: str, values: Sequence[float], baseline: Sequence[float]
    ) -> "Change":
        order: list[str] = run.details["queries"]
        differences = [
            (value - before, query_id)
            for value, before, query_id in zip(values, baseline, order, strict=True)
        ]
        falling = sorted(differences, key=lambda each: -each[0])
        changed = [each for each in falling if each[0] != 0]
        step = min(WIDTH / max(len(changed), 1), _MAX_STEP)
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
        gains = [each for each in changed if each[0] > 0 and each[1] in returned][:_SHOWN]
        losses = [each for each in changed[::-1] if each[0] < 0 and each[1] in returned][:_SHOWN]
        shown = [run.baseline, system]
        return cls(
            system=system,
            bars=bars,
            gained=sum(difference > 0 for difference, _ in changed),
            lost=sum(difference < 0 for difference, _ in changed),
            gains=[_look_at(run, query_id, shown, difference) for difference, query_id in gains],
            losses=[_look_at(run, query_id, shown, difference) for difference, query_id in losses],
        )


@dataclass(frozen=True, slots=True)
class History:
    """Runs of the same queries, the oldest first, this one last. The plot leaves a system out of
    the runs that did not measure it."""

    runs: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    systems: list[str]

    @classmethod
    def of(cls, run: EvaluationRun, measure: str) -> "History":
        kept = [each for each in [*earlier_runs(run), run] if measure in each.measures]
        found = [{row["system"]: row["measures"][measure] for row in each.results} for each in kept]
        systems = list(dict.fromkeys(name for values in found for name in values))
        step = WIDTH / max(len(kept) - 1, 1)
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
            for each, values in zip(kept, found, strict=True)
        ]
        return cls(rows, lines, systems)


# --- Queries ---------------------------------------------------------------------------------


def _find_worst(
    run: EvaluationRun, values: Mapping[str, Mapping[str, Sequence[float]]], measure: str
) -> list[dict[str, Any]]:
    """The queries that the system asked for first answers worst."""
    first = run.systems[0]
    falling = sorted(
        zip(values[first][measure], run.details["queries"], strict=True), key=lambda each: each[0]
    )
    returned = run.details["returned"]
    worst = [query_id for value, query_id in falling if value < 1 and query_id in returned]
    return [_look_at(run, query_id, run.systems) for query_id in worst[:_SHOWN]]


def _look_at(
    run: EvaluationRun, query_id: str, systems: Sequence[str], difference: float | None = None
) -> dict[str, Any]:
    """What was asked, what should have come, what each of these systems returned."""
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
