"""What a build's ``comparison`` says, for people: in a terminal, and in the admin.

``evaluation.build_comparison`` measures it and ``evaluation.promotion_gate`` adds the verdict.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Kept = Mapping[str, Any]  # IndexBuild.comparison

_SOURCES = {
    "golden_queries": "golden queries",
    "hypothetical_questions": "questions written about chunks of the live build",
}
_KINDS = {
    "chunk": "by chunks",
    "question": "by questions",
    "page_summary": "by summaries",
}
_HEADINGS = ["measure", "live", "new", "difference", "95% interval"]


def describe_comparison(kept: Kept | None) -> list[str]:
    """Lines: what was asked, an aligned table of the measures, the verdict; none where nothing is
    kept."""
    if kept is None:
        return []
    lines = []
    if kept.get("measures"):
        asked = f"{kept['query_count']} {_SOURCES[kept['source']]}"
        lines.append(f"{asked}, answered {_KINDS[kept['kind']]}; live: #{kept['live_build']}")
        lines += _align([_HEADINGS, *_rows(kept)])
        if kept["is_optimistic"]:
            lines.append(
                "The figures are optimistic: these questions were made from what they are to find."
            )
    if kept.get("verdict"):
        verdict: str = kept["verdict"]
        lines.append(verdict[0].upper() + verdict[1:])
    return lines


def summarise_comparison(kept: Kept | None) -> str:
    """In one line: each difference, and whether it was promoted."""
    if kept is None:
        return ""
    differences = [
        f"{name} {measured['difference']:+.3f}" for name, measured in kept["measures"].items()
    ]
    outcome, _, _ = (kept.get("verdict") or "measured").partition(":")
    return f"{outcome} ({', '.join(differences)})" if differences else outcome


def _rows(kept: Kept) -> list[list[str]]:
    return [
        [
            name,
            f"{measured['live']:.4f}",
            f"{measured['new']:.4f}",
            f"{measured['difference']:+.4f}",
            f"{measured['low']:+.4f} to {measured['high']:+.4f}"
            + (" (a loss)" if measured["is_loss"] else ""),
        ]
        for name, measured in kept["measures"].items()
    ]


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column and the last to the left, the figures between them to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for first, *figures, last in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(figures, widths[1:-1], strict=True)]
        lines.append("  ".join([*cells, last]))
    return lines
