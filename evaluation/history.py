"""Runs as the API says them, and those of the same queries over time."""

from typing import Any

from evaluation.models import EvaluationRun

MOST_EARLIER = 50


def earlier_runs(run: EvaluationRun) -> list[EvaluationRun]:
    """Finished ones that it compares with, the oldest first; the last fifty before it."""
    before = (
        EvaluationRun.objects.light()
        .comparable_to(run)
        .exclude(pk=run.pk)
        .filter(created_at__lte=run.created_at)
        .order_by("-created_at", "-pk")
    )
    return list(before[:MOST_EARLIER])[::-1]


def describe_run(run: EvaluationRun) -> dict[str, Any]:
    error = {"code": run.error_code, "detail": run.error_detail} if run.error_code else None
    return {
        "id": str(run.pk),
        "index": run.index_id,
        "build": run.build_number,
        "state": run.state,
        "systems": run.systems,
        "against": run.baseline or None,
        "measures": run.measures,
        "judgements": run.source,
        "judgements_hash": run.judgements_hash,
        "queries": run.query_count,
        "progress": {"done": run.done_count, "total": run.total_count},
        "results": run.results,
        "error": error,
        "asked_by": run.asked_by,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
    }
