"""Admin for artifacts, pages and sources: view and delete. Content comes in through the API."""

from contextlib import suppress
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from core.admin import (
    Effect,
    ReadOnlyAdmin,
    UndeletableRowAdmin,
    confirmed_action,
    name_targets,
    select_rows,
)
from core.enqueueing import enqueue_on_commit
from core.index_paths import get_index_path
from documents.exceptions import UnknownArtifact
from documents.index_catalog import get_catalog
from documents.models import Artifact, Page, Source
from documents.reading import SET_BY_HAND
from documents.services import parse_again, remove_artifact, set_hold
from documents.tasks import reconcile_documents


class IndexFilter(admin.SimpleListFilter):
    title = parameter_name = "index"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted(get_catalog().index_names())]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        name = self.value()
        path = get_index_path(queryset.model)
        return queryset if name is None else queryset.filter(**{path: name})


@admin.register(Artifact)
class ArtifactAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "index", "media_type", "state", "error_code", "updated_at"]
    list_filter = ["state", IndexFilter, "media_type", "is_held"]
    actions = ["read_again", "begin_hold", "end_hold"]
    search_fields = ["title", "file_name", "external_id"]
    search_help_text = "Title, file name, external id, or the artifact's id."
    ordering = ["-created_at", "-id"]
    long_fields = ["metadata", "warnings", "error_detail"]
    id_fields = ["pk"]

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """List only the artifacts; the thousands of rows deleted with them are not shown. Those
        under a legal hold are named as protected, and nothing is deleted."""
        names = [str(artifact) for artifact in objs]
        removable = set(Artifact.objects.removable().filter(pk__in=[each.pk for each in objs]))
        held = [f"{artifact} (legal hold)" for artifact in objs if artifact not in removable]
        return names, {str(self.opts.verbose_name_plural): len(names)}, set(), held

    def delete_model(self, request: HttpRequest, obj: Artifact) -> None:
        with suppress(UnknownArtifact):
            remove_artifact(obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Artifact]) -> None:
        for artifact_id in list(queryset.values_list("pk", flat=True)):
            with suppress(UnknownArtifact):
                remove_artifact(artifact_id)

    @confirmed_action("Read again")
    def read_again(self, request: HttpRequest, queryset: QuerySet[Artifact]) -> Effect:
        read = [Artifact.State.PARSED, Artifact.State.FAILED]
        rows = queryset.filter(has_file=True, state__in=read).exclude(reader=SET_BY_HAND)
        count = rows.count()

        def carry_out() -> str:
            changed = parse_again(rows)
            enqueue_on_commit(reconcile_documents)
            return f"Files that are read again: {changed:,}."

        return Effect(
            f"Files that are read again: {count:,}, of {queryset.count():,} documents. Searches "
            "find what was read before until then. Texts without a file, and pages that were "
            "edited by hand, are not read.",
            count,
            name_targets(rows, "pk"),
            carry_out,
        )

    @admin.action(description="Begin a legal hold", permissions=["queue"])
    def begin_hold(self, request: HttpRequest, queryset: QuerySet[Artifact]) -> None:
        count = set_hold(select_rows(queryset), True)
        self.show_count(request, "%d document is held.", "%d documents are held.", count)

    @admin.action(description="End the legal hold", permissions=["queue"])
    def end_hold(self, request: HttpRequest, queryset: QuerySet[Artifact]) -> None:
        count = set_hold(select_rows(queryset), False)
        self.show_count(request, "%d document is not held.", "%d documents are not held.", count)


class ArtifactPartAdmin(UndeletableRowAdmin):
    """Pages and sources, which are added and deleted with their artifact."""

    list_filter = [IndexFilter]
    list_select_related = ["artifact"]
    long_fields = ["text", *(f"artifact__{name}" for name in ArtifactAdmin.long_fields)]
    id_fields = ["pk", "artifact"]


@admin.register(Page)
class PageAdmin(ArtifactPartAdmin):
    list_display = ["artifact", "index", "label"]
    search_fields = ["artifact__title", "label"]
    search_help_text = "Title, label, or the id of the page or its artifact."
    ordering = ["artifact_id", "index"]  # ordering by title would sort all pages


@admin.register(Source)
class SourceAdmin(ArtifactPartAdmin):
    list_display = ["artifact", "ordinal", "heading", "start", "end"]
    search_fields = ["artifact__title", "heading"]
    search_help_text = "Title, heading, or the id of the source, its page or its artifact."
    ordering = ["artifact_id", "ordinal"]
    id_fields = ["pk", "artifact", "page"]
