"""Documents in the admin: to look at, and to delete. Content comes in through the API.

Also what every list of the service shares, for all of them may grow long. Actions that other apps
offer on artifacts and pages stand in those apps' admin modules.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from documents.indexes import get_catalog
from documents.models import Artifact, Page, Source
from documents.services import remove_artifact

COUNT_LIMIT = 10_000  # rows: a hundred pages, more than anyone turns

M = TypeVar("M", bound=Model)


class AtLeast(int):
    """A count that was not carried on; shown with a plus."""

    def __str__(self) -> str:
        return f"{int(self)}+"


class CappedPaginator(Paginator):
    """Counts no further than ``COUNT_LIMIT``: a list of a million rows opens as a short one."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        count = rows.order_by().values("pk")[: COUNT_LIMIT + 1].count()
        return count if count <= COUNT_LIMIT else AtLeast(COUNT_LIMIT)


class Listed(admin.ModelAdmin):
    """Rows the service adds and removes, in lists that cost the same however many there are."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the whole table
    long_fields: Sequence[str] = ()  # left in the database until a row is opened
    id_fields: Sequence[str] = ()  # what an id in the search box may be

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.long_fields)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            wanted = UUID(search_term.strip())
        except ValueError:
            return super().get_search_results(request, queryset, search_term)
        return queryset.filter(self.has_id(wanted)), False

    def has_id(self, wanted: UUID) -> Q:
        """Compared as ids, not as text: so an index finds them."""
        condition = Q(pk__in=[])
        for name in self.id_fields:
            condition |= Q(**{name: wanted})
        return condition

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_queue_permission(self, request: HttpRequest) -> bool:
        """Who may change rows may have their work done again, even where no one edits them."""
        return super().has_change_permission(request)


class LookedAt(Listed):
    """Rows the service writes; people only read them."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class IndexFilter(admin.SimpleListFilter):
    title = parameter_name = "index"
    lookup = "index"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted(get_catalog().names())]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        name = self.value()
        return queryset if name is None else queryset.filter(**{self.lookup: name})


class IndexOfArtifactFilter(IndexFilter):
    lookup = "artifact__index"


def selected(queryset: QuerySet[M]) -> QuerySet[M]:
    """The rows an action is for, without the list's ordering, joins and annotations.

    They are named by a subquery: all of a long list may be meant, and ids would be too many.
    """
    return queryset.model._default_manager.filter(pk__in=queryset.order_by().values("pk"))


@admin.register(Artifact)
class ArtifactAdmin(LookedAt):
    list_display = ["__str__", "index", "media_type", "state", "error_code", "updated_at"]
    list_filter = ["state", IndexFilter, "media_type"]
    search_fields = ["title", "file_name", "external_id"]
    search_help_text = "Title, file name, external id, or the artifact's id."
    ordering = ["-created_at", "-id"]
    long_fields = ["metadata", "warnings", "error_detail"]
    id_fields = ["pk"]
    actions: list[Any] = []

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(role=Artifact.Role.DOCUMENT)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """The artifacts alone: what goes with them is no one's to keep, and may be thousands."""
        names = [str(artifact) for artifact in objs]
        return names, {str(self.opts.verbose_name_plural): len(names)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Artifact) -> None:
        with suppress(Artifact.DoesNotExist):
            remove_artifact(obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Artifact]) -> None:
        for artifact_id in list(queryset.values_list("pk", flat=True)):
            with suppress(Artifact.DoesNotExist):
                remove_artifact(artifact_id)


class PartAdmin(LookedAt):
    """Pages and sources, which come and go with their artifact."""

    list_filter = [IndexOfArtifactFilter]
    list_select_related = ["artifact"]
    long_fields = ["text", *(f"artifact__{name}" for name in ArtifactAdmin.long_fields)]
    id_fields = ["pk", "artifact"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Page)
class PageAdmin(PartAdmin):
    list_display = ["artifact", "index", "label"]
    search_fields = ["artifact__title", "label"]
    search_help_text = "Title, label, or the id of the page or its artifact."
    ordering = ["artifact_id", "index"]  # by the titles, all pages would have to be sorted
    actions: list[Any] = []


@admin.register(Source)
class SourceAdmin(PartAdmin):
    list_display = ["artifact", "ordinal", "heading", "start", "end"]
    search_fields = ["artifact__title", "heading"]
    search_help_text = "Title, heading, or the id of the source, its page or its artifact."
    ordering = ["artifact_id", "ordinal"]
    id_fields = ["pk", "artifact", "page"]
