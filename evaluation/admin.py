"""Admin pages of judgements and evaluation runs: read-only, with deletion."""

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from core.admin import ReadOnlyAdmin
from documents.admin import IndexFilter
from evaluation.models import EvaluationRun, Judgement
from evaluation.report import format_measure_name


@admin.register(Judgement)
class JudgementAdmin(ReadOnlyAdmin):
    list_display = ["query", "is_good", "index", "artifact", "page_index", "judged_by", "judged_at"]
    list_filter = ["is_good", IndexFilter]
    list_select_related = ["artifact"]
    id_fields = ["pk", "artifact_id", "node_id"]
    search_fields = ["query"]
    search_help_text = "Part of the query, or an id."
    exclude = ["query_hash"]


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnlyAdmin):
    list_display = [
        "created_at", "index", "build_number", "first_measure", "state", "progress", "query_count",
        "report", "asked_by",
    ]  # fmt: skip
    list_filter = ["state", "source", IndexFilter]
    long_fields = ["queries", "qrels", "details"]
    id_fields = ["pk"]
    search_fields = ["index__name", "judgements_hash"]
    search_help_text = "Index name, judgements hash, or run id."
    exclude = ["queries", "qrels", "details", "lease_token", "leased_until"]

    @admin.display(description="first measure")
    def first_measure(self, run: EvaluationRun) -> str:
        if not run.results:
            return ", ".join(run.systems)
        first = run.measures[0]
        values = (f"{row['system']} {row['measures'][first]:.4f}" for row in run.results)
        return f"{format_measure_name(first)}: {', '.join(values)}"

    @admin.display(description="answers")
    def progress(self, run: EvaluationRun) -> str:
        return f"{run.done_count:,} of {run.total_count:,}"

    @admin.display
    def report(self, run: EvaluationRun) -> str:
        if run.state != EvaluationRun.State.DONE:
            return ""
        address = reverse("evaluation-report", args=[run.pk])
        return format_html('<a href="{}">report</a>', address)
