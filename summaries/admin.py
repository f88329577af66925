"""Admin pages for summaries and chunk annotations: view them, and have them rewritten."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest

from core.admin import UndeletableRowAdmin, select_rows
from core.enqueueing import enqueue_on_commit
from documents.admin import ArtifactAdmin, IndexFilter
from indexing.admin import ERROR_CHARS
from indexing.models import IndexBuild
from summaries import services, tasks
from summaries.models import Annotation, Summary

SUMMARY_PREVIEW_CHARS = 120  # in a list of summaries


class WrittenTextAdmin(UndeletableRowAdmin):
    """Base class for rows that a writer or a person writes."""

    index_lookup = "build__index"
    list_select_related = ["artifact", "page", "build"]
    long_fields = [
        "last_error",
        "page__text",
        "build__recipe",
        *(f"artifact__{name}" for name in ArtifactAdmin.long_fields),
    ]
    readonly_fields = ["attempts", "last_error", "created_at"]
    actions = ["write_again"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).annotate(error=Left("last_error", ERROR_CHARS))

    @admin.display(description="last error")
    def error(self, row: Any) -> str:
        return row.error

    @admin.action(description="Write again", permissions=["queue"])
    def write_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        rows = select_rows(queryset).filter(build__in=IndexBuild.objects.not_retired().values("pk"))
        count = services.make_texts_due(rows, is_cache_bypassed=True)
        enqueue_on_commit(tasks.reconcile_written_texts)
        self.show_count(request, "%d text queued.", "%d texts queued.", count)


@admin.register(Summary)
class SummaryAdmin(WrittenTextAdmin):
    list_display = [
        "artifact", "page", "build", "state", "model_name", "is_by_hand", "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexFilter, ("page", admin.EmptyFieldListFilter), "is_by_hand"]
    search_fields = ["artifact__title", "=model_name"]
    search_help_text = "Title, name of the model, or the id of the artifact or the page."
    long_fields = [*WrittenTextAdmin.long_fields, "text", "citations"]
    id_fields = ["artifact", "page"]


@admin.register(Annotation)
class AnnotationAdmin(WrittenTextAdmin):
    """Chunks with their questions, summary and fields."""

    list_display = [
        "artifact", "page", "chunk_index", "line", "build", "state", "model_name", "is_by_hand",
        "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexFilter, "is_by_hand"]
    search_fields = ["artifact__title", "heading", "=model_name"]
    search_help_text = (
        "Title, heading, name of the model, or the id of the chunk, its artifact, page or source."
    )
    long_fields = [*WrittenTextAdmin.long_fields, "text", "questions", "summary", "fields"]
    id_fields = ["artifact", "page", "source"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Annotation]:
        return super().get_queryset(request).annotate(line=Left("summary", SUMMARY_PREVIEW_CHARS))

    def id_condition(self, searched_id: UUID) -> Q:
        builds = [*IndexBuild.objects.values_list("pk", flat=True)]
        return super().id_condition(searched_id) | Q(build__in=builds, chunk_id=searched_id)

    @admin.display(description="summary")
    def line(self, row: Any) -> str:
        return row.line
