"""Render evaluation runs for the API, and find the earlier runs of the same queries."""

from typing import Any

from evaluation.models import EvaluationRun

MAX_EARLIER_RUNS = 50


def find_earlier_runs(run: EvaluationRun) -> list[EvaluationRun]:
    """Return the last fifty comparable finished runs before this one, oldest first."""
    before = (
        EvaluationRun.objects.without_large_fields()
        .comparable_to(run)
        .exclude(pk=run.pk)
        .filter(created_at__lte=run.created_at)
        .order_by("-created_at", "-pk")
    )
    return list(before[:MAX_EARLIER_RUNS])[::-1]


def render_run(run: EvaluationRun) -> dict[str, Any]:
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
