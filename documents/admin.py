"""Documents in the admin: to look at, and to delete. Content comes in through the API."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from documents.models import Artifact, Page, Source


class LookedAt(admin.ModelAdmin):
    """Rows the service writes; people only read them."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Artifact)
class ArtifactAdmin(LookedAt):
    list_display = ["__str__", "index", "media_type", "state", "error_code", "updated_at"]
    list_filter = ["state", "index", "media_type"]
    search_fields = ["title", "file_name", "external_id"]


@admin.register(Page)
class PageAdmin(LookedAt):
    list_display = ["artifact", "index", "label"]
    list_select_related = ["artifact"]
    search_fields = ["artifact__title", "label"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Page]:
        return super().get_queryset(request).defer("text")


@admin.register(Source)
class SourceAdmin(LookedAt):
    list_display = ["artifact", "ordinal", "heading", "start", "end"]
    list_select_related = ["artifact"]
    search_fields = ["artifact__title", "heading"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Source]:
        return super().get_queryset(request).defer("text")
