"""Render an evaluation run as one self-contained HTML page: no script, no font, no network.

This module computes the layout of its SVG plots, ``WIDTH`` by ``HEIGHT`` units each;
``evaluation/templates/evaluation/report.html`` draws them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string

from core.exceptions import InvalidInput
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
    """Render the report of a finished run. Raises ``InvalidInput``: the run is not finished."""
    if run.state != EvaluationRun.State.DONE:
        raise InvalidInput(
            f"The evaluation is {run.state}; it has no report until it is done.", field="id"
        )
    first = run.measures[0]
    by_system = {name: values[first] for name, values in run.details["values"].items()}
    return render_to_string(
        "evaluation/report.html",
        {
            "policy": REPORT_POLICY,
            "run": run,
            "first": format_measure_name(first),
            "measures": [format_measure_name(name) for name in run.measures],
            "rows": [_make_system_row(row, run) for row in run.results],
            "spreads": [plot_values(system, values) for system, values in by_system.items()],
            "changes": [
                plot_differences(run, system, values, by_system[run.baseline])
                for system, values in by_system.items()
                if run.baseline and system != run.baseline
            ],
            "worst": _find_worst_queries(run, by_system[run.systems[0]]),
            "history": plot_history(run, first),
            "width": WIDTH,
            "height": HEIGHT,
        },
    )


def _make_system_row(result: Mapping[str, Any], run: EvaluationRun) -> dict[str, Any]:
    differences = result.get("differences", {})
    cells = [
        {"value": result["measures"][name], "difference": differences.get(name)}
        for name in run.measures
    ]
    return {**result, "cells": cells}


# --- Plots -----------------------------------------------------------------------------------


def plot_values(system: str, values: Sequence[float]) -> dict[str, Any]:
    """Plot one system's values of all queries in descending order as a line."""
    step = WIDTH / max(len(values), 1)
    corners = []
    for n, value in enumerate(sorted(values, reverse=True)):
        y = HEIGHT * (1 - value)
        corners += [f"{n * step:.1f},{y:.1f}", f"{(n + 1) * step:.1f},{y:.1f}"]
    return {
        "system": system,
        "points": " ".join(corners),
        "perfect_count": sum(value >= 1 for value in values),
        "zero_count": sum(value <= 0 for value in values),
    }


def plot_differences(
    run: EvaluationRun, system: str, values: Sequence[float], baseline: Sequence[float]
) -> dict[str, Any]:
    """Plot each query's gain or loss against the baseline as a bar, greatest gains first."""
    pairs = zip(values, baseline, run.details["queries"], strict=True)
    differences = [(value - before, query_id) for value, before, query_id in pairs]
    changed = sorted((each for each in differences if each[0] != 0), key=lambda each: -each[0])
    step = min(WIDTH / max(len(changed), 1), _MAX_BAR_STEP)
    middle = HEIGHT / 2
    bars = [
        {
            "x": n * step,
            "y": middle - max(difference, 0) * middle,
            "width": step * (1 - _BAR_GAP),
            "height": abs(difference) * middle,
            "is_loss": difference < 0,
            "label": f"{difference:+.3f} {run.queries[query_id]}",
        }
        for n, (difference, query_id) in enumerate(changed)
    ]
    described = [each for each in changed if each[1] in run.details["returned"]]
    gains = [each for each in described if each[0] > 0][:_SHOWN_QUERY_COUNT]
    losses = [each for each in described[::-1] if each[0] < 0][:_SHOWN_QUERY_COUNT]
    shown = [run.baseline, system]
    return {
        "system": system,
        "bars": bars,
        "gained_count": sum(not bar["is_loss"] for bar in bars),
        "lost_count": sum(bar["is_loss"] for bar in bars),
        "gains": [_describe_query(run, query_id, shown, each) for each, query_id in gains],
        "losses": [_describe_query(run, query_id, shown, each) for each, query_id in losses],
    }


def plot_history(run: EvaluationRun, measure: str) -> dict[str, Any]:
    """Plot one measure over the runs of the same queries, oldest first and this run last. A system
    has no point for runs that did not measure it."""
    earlier = EvaluationRun.objects.list_earlier(run)
    runs = [each for each in [*earlier, run] if measure in each.measures]
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
    return {"runs": rows, "lines": lines, "systems": systems}


# --- Queries ---------------------------------------------------------------------------------


def _find_worst_queries(run: EvaluationRun, values: Sequence[float]) -> list[dict[str, Any]]:
    """Describe the queries with the lowest values."""
    ascending = sorted(zip(values, run.details["queries"], strict=True), key=lambda each: each[0])
    returned = run.details["returned"]
    worst = [query_id for value, query_id in ascending if value < 1 and query_id in returned]
    return [_describe_query(run, query_id, run.systems) for query_id in worst[:_SHOWN_QUERY_COUNT]]


def _describe_query(
    run: EvaluationRun, query_id: str, systems: Sequence[str], difference: float | None = None
) -> dict[str, Any]:
    """Return a query's text, its relevant documents, and what each system returned for it."""
    position = run.details["queries"].index(query_id)
    measure = run.measures[0]
    return {
        "text": run.queries[query_id],
        "difference": difference,
        "expected": [name for name, grade in run.qrels[query_id].items() if grade > 0],
        "answers": [
            {
                "system": system,
                "value": run.details["values"][system][measure][position],
                "hits": run.details["returned"][query_id][system],
            }
            for system in systems
        ],
    }
