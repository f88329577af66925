"""Admin pages for summaries and chunk annotations: view them, and have them rewritten."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.translation import ngettext

from core.admin import ServiceRowAdmin, UndeletableRowAdmin, offer_actions, select_rows
from core.enqueueing import enqueue_on_commit
from documents.admin import ArtifactAdmin
from documents.models import Artifact, Page
from documents.tasks import reconcile_documents
from indexing.admin import ERROR_CHARS, IndexOfBuildFilter, enqueue_sync_of_pending_builds
from indexing.models import IndexBuild, Node
from summaries import services, tasks
from summaries.models import Annotation, Summary

SUMMARY_PREVIEW_CHARS = 120  # in a list of summaries


def rewrite_and_show(
    model_admin: ServiceRowAdmin, request: HttpRequest, rows: QuerySet[Any]
) -> None:
    builds = IndexBuild.objects.not_retired().values("pk")
    count = services.make_texts_due(rows.filter(build__in=builds), is_cache_bypassed=True)
    enqueue_on_commit(tasks.reconcile_written_texts)
    one, many = ("summary", "summaries") if rows.model is Summary else ("chunk", "chunks")
    model_admin.show_count(request, f"%d {one} queued.", f"%d {many} queued.", count)


# --- Artifacts and pages ---------------------------------------------------------------------

# These actions keep texts by hand. The list of each model has an action that rewrites those.


@admin.action(description="Summarise again, except summaries by hand", permissions=["queue"])
def summarise_artifacts_again(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    summaries = Summary.objects.filter(artifact__in=select_rows(queryset), is_by_hand=False)
    rewrite_and_show(model_admin, request, summaries)


@admin.action(description="Write questions again, except those by hand", permissions=["queue"])
def rewrite_artifact_questions(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    chunks = Annotation.objects.filter(artifact__in=select_rows(queryset), is_by_hand=False)
    rewrite_and_show(model_admin, request, chunks)


@admin.action(description="Retry failed", permissions=["queue"])
def retry_failed_artifacts(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    """Retry all failed work of these artifacts: parsing, writing and embedding."""
    artifacts = select_rows(queryset)
    retried = services.retry_failed_work(artifacts, Node.objects.filter(artifact__in=artifacts))
    if retried.files:
        enqueue_on_commit(reconcile_documents)
    enqueue_sync_of_pending_builds()
    enqueue_on_commit(tasks.reconcile_written_texts)
    counts = [
        ngettext("%d file", "%d files", retried.files) % retried.files,
        ngettext("%d text", "%d texts", retried.texts) % retried.texts,
        ngettext("%d node", "%d nodes", retried.nodes) % retried.nodes,
    ]
    queued = ", ".join(counts)
    model_admin.message_user(request, f"Queued again: {queued}.", messages.SUCCESS)


@admin.action(description="Summarise again, except summaries by hand", permissions=["queue"])
def summarise_pages_again(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Page]
) -> None:
    summaries = Summary.objects.filter(page__in=select_rows(queryset), is_by_hand=False)
    rewrite_and_show(model_admin, request, summaries)


offer_actions(
    Artifact, summarise_artifacts_again, rewrite_artifact_questions, retry_failed_artifacts
)
offer_actions(Page, summarise_pages_again)


# --- Written texts ---------------------------------------------------------------------------


class WrittenTextAdmin(UndeletableRowAdmin):
    """Base class for rows that a writer or a person writes."""

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
        rewrite_and_show(self, request, select_rows(queryset))


@admin.register(Summary)
class SummaryAdmin(WrittenTextAdmin):
    list_display = [
        "artifact", "page", "build", "state", "model_name", "is_by_hand", "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexOfBuildFilter, ("page", admin.EmptyFieldListFilter), "is_by_hand"]
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
    list_filter = ["state", IndexOfBuildFilter, "is_by_hand"]
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
