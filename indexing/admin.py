"""Indexes, builds and the ledger in the admin, to look at."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from documents.admin import LookedAt
from indexing.models import Index, IndexBuild, Node


class Kept(LookedAt):
    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Index)
class IndexAdmin(Kept):
    list_display = ["name", "live_build", "created_at"]
    list_select_related = ["live_build"]


@admin.register(IndexBuild)
class IndexBuildAdmin(Kept):
    list_display = ["__str__", "state", "fingerprint", "created_at"]
    list_filter = ["state"]


@admin.register(Node)
class NodeAdmin(Kept):
    list_display = ["point_id", "kind", "build", "state", "attempts", "last_error", "settled_at"]
    list_filter = ["state", "kind", "build"]
    list_select_related = ["build"]
    search_fields = ["=point_id", "=artifact_id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Node]:
        return super().get_queryset(request).defer("text", "context")
