"""Formats a build's stored ``comparison`` as text for the terminal and the admin."""

from collections.abc import Mapping, Sequence
from typing import Any

from indexing.kinds import KINDS

StoredComparison = Mapping[str, Any]  # IndexBuild.comparison

_SOURCE_LABELS = {
    "golden_queries": "golden queries",
    "hypothetical_questions": "generated questions about chunks of the live build",
}
_HEADINGS = ["measure", "live", "new", "difference", "95% interval"]


def describe_comparison(comparison: StoredComparison | None) -> list[str]:
    """Format as lines: number of queries, table of measures, verdict; no lines for None."""
    if comparison is None:
        return []
    lines = []
    if comparison.get("measures"):
        queries = f"{comparison['query_count']} {_SOURCE_LABELS[comparison['source']]}"
        kind = KINDS[comparison["kind"]].plural
        lines.append(f"{queries}, searched in {kind}; live: #{comparison['live_build']}")
        lines += _format_table([_HEADINGS, *_measure_rows(comparison)])
        if comparison["is_optimistic"]:
            lines.append(
                "The values are optimistic: each question was generated from the chunk to be found."
            )
    if comparison.get("verdict"):
        verdict: str = comparison["verdict"]
        lines.append(verdict[0].upper() + verdict[1:])
    return lines


def summarise_comparison(comparison: StoredComparison | None) -> str:
    """Summarise in one line: the verdict and the difference of each measure."""
    if comparison is None:
        return ""
    differences = [
        f"{name} {measured['difference']:+.3f}" for name, measured in comparison["measures"].items()
    ]
    outcome, _, _ = (comparison.get("verdict") or "measured").partition(":")
    return f"{outcome} ({', '.join(differences)})" if differences else outcome


def _measure_rows(comparison: StoredComparison) -> list[list[str]]:
    return [
        [
            name,
            f"{measured['live']:.4f}",
            f"{measured['new']:.4f}",
            f"{measured['difference']:+.4f}",
            f"{measured['low']:+.4f} to {measured['high']:+.4f}"
            + (" (a loss)" if measured["is_loss"] else ""),
        ]
        for name, measured in comparison["measures"].items()
    ]


def _format_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the first and the last column left, the figures between them right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for first, *figures, last in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(figures, widths[1:-1], strict=True)]
        lines.append("  ".join([*cells, last]))
    return lines
