"""Admin pages for summaries, chunk annotations and segmentations: view them, and have them written
and embedded again; and for what the language model has cost."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Left
from django.http import HttpRequest

from core.admin import Effect, UndeletableRowAdmin, confirmed_action, name_targets
from core.enqueueing import enqueue_on_commit
from documents.admin import ArtifactAdmin, IndexFilter
from indexing.admin import ERROR_CHARS, embed_again
from indexing.models import IndexBuild, Node
from summaries import services, tasks
from summaries.models import Annotation, BuildLanguageModelCost, Segmentation, Summary

SUMMARY_PREVIEW_CHARS = 120  # in a list of summaries


class WrittenTextAdmin(UndeletableRowAdmin):
    """Base class for rows that a writer or a person writes."""

    list_select_related = ["artifact", "page", "build"]
    long_fields = [
        "last_error",
        "build__recipe",
        *(f"artifact__{name}" for name in ArtifactAdmin.long_fields),
    ]
    readonly_fields = ["attempts", "last_error", "created_at"]
    actions = ["embed_again", "write_again"]

    def find_nodes(self, rows: QuerySet[Any]) -> QuerySet[Node]:
        """The nodes of these texts."""
        raise NotImplementedError

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).annotate(error=Left("last_error", ERROR_CHARS))

    @admin.display(description="last error")
    def error(self, row: Any) -> str:
        return row.error

    @confirmed_action("Embed again")
    def embed_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> Effect:
        targets = name_targets(queryset, "artifact")
        return embed_again(self.find_nodes(queryset), targets)

    @confirmed_action("Write again")
    def write_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> Effect:
        not_retired = IndexBuild.objects.not_retired().order_by().values("pk")
        rows = queryset.filter(build__in=not_retired)
        count = rows.count()
        by_hand = rows.filter(is_by_hand=True).count()

        def carry_out() -> str:
            changed = services.make_texts_due(rows, is_cache_bypassed=True)
            enqueue_on_commit(tasks.reconcile_written_texts)
            return f"Texts that are written again: {changed:,}."

        return Effect(
            f"Texts that are written again: {count:,}, of which {by_hand:,} were written by hand.",
            count,
            name_targets(rows, "artifact"),
            carry_out,
        )


@admin.register(Summary)
class SummaryAdmin(WrittenTextAdmin):
    list_display = [
        "artifact", "page", "build", "state", "model_name", "is_by_hand", "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexFilter, ("page", admin.EmptyFieldListFilter), "is_by_hand"]
    search_fields = ["artifact__title", "=model_name"]
    search_help_text = "Title, name of the model, or the id of the artifact or the page."
    long_fields = [*WrittenTextAdmin.long_fields, "page__text", "text", "citations"]
    id_fields = ["artifact", "page"]

    def find_nodes(self, rows: QuerySet[Any]) -> QuerySet[Node]:
        mine = rows.alias(entity=Coalesce("page_id", "artifact_id"))
        mine = mine.filter(build=OuterRef("build"), entity=OuterRef("point_id"))
        return Node.objects.filter(Exists(mine), kind__in=["page_summary", "artifact_summary"])


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
    long_fields = [
        *WrittenTextAdmin.long_fields, "page__text", "text", "questions", "summary", "fields",
    ]  # fmt: skip
    id_fields = ["artifact", "page", "source"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Annotation]:
        return super().get_queryset(request).annotate(line=Left("summary", SUMMARY_PREVIEW_CHARS))

    def find_nodes(self, rows: QuerySet[Any]) -> QuerySet[Node]:
        place = {name: OuterRef(name) for name in ("build", "source", "strategy", "chunk_index")}
        return Node.objects.filter(Exists(rows.filter(**place)), kind="question")

    def id_condition(self, searched_id: UUID) -> Q:
        builds = [*IndexBuild.objects.values_list("pk", flat=True)]
        return super().id_condition(searched_id) | Q(build__in=builds, chunk_id=searched_id)

    @admin.display(description="summary")
    def line(self, row: Any) -> str:
        return row.line


@admin.register(Segmentation)
class SegmentationAdmin(WrittenTextAdmin):
    """Where a language model cuts sources into chunks."""

    list_display = [
        "artifact", "source", "build", "state", "model_name", "error", "written_at",
    ]  # fmt: skip
    list_select_related = ["artifact", "source", "build"]
    list_filter = ["state", IndexFilter]
    search_fields = ["artifact__title", "=model_name"]
    search_help_text = "Title, name of the model, or the id of the artifact or the source."
    long_fields = [*WrittenTextAdmin.long_fields, "source__text", "boundaries"]
    id_fields = ["artifact", "source"]

    def find_nodes(self, rows: QuerySet[Any]) -> QuerySet[Node]:
        mine = rows.filter(build=OuterRef("build"), source=OuterRef("source"))
        return Node.objects.filter(Exists(mine), kind="chunk")


@admin.register(BuildLanguageModelCost)
class BuildLanguageModelCostAdmin(UndeletableRowAdmin):
    list_display = [
        "build", "call_count", "reused_count", "failure_count", "prompt_tokens",
        "completion_tokens",
    ]  # fmt: skip
    list_filter = [IndexFilter]
    list_select_related = ["build"]
    long_fields = ["build__recipe"]
