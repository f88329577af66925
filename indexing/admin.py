"""The admin of indexes, builds and nodes lists them. The page of the indexes builds, promotes and
retries; ``regenerate`` makes nodes again."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left
from django.http import HttpRequest
from django.utils.html import format_html

from core.admin import UndeletableRowAdmin
from documents.admin import IndexFilter
from documents.models import Artifact
from indexing import lifecycle
from indexing.comparison_text import describe_comparison, summarise_comparison
from indexing.kinds import KINDS
from indexing.models import NOT_SYNCED, Index, IndexBuild, Node, SearchSettings

ERROR_CHARS = 200  # of an error, in a list


class KindFilter(admin.SimpleListFilter):
    title = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind.replace("_", " ")) for kind in KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Node]) -> QuerySet[Node]:
        kind = self.value()
        return queryset if kind is None else queryset.filter(kind=kind)


@admin.register(Index)
class IndexAdmin(UndeletableRowAdmin):
    list_display = ["name", "live_build", "search_settings", "created_at"]
    list_select_related = ["live_build", "search_settings"]
    long_fields = ["live_build__recipe", "search_settings__content"]


@admin.register(SearchSettings)
class SearchSettingsAdmin(UndeletableRowAdmin):
    list_display = ["__str__", "created_at"]
    list_filter = [IndexFilter]
    long_fields = ["content"]


def _count_nodes_query(*conditions: Q) -> Coalesce:
    """Count the nodes of a build in a subquery that reads only a database index."""
    nodes = Node.objects.filter(*conditions, build=OuterRef("pk")).order_by().values("build")
    return Coalesce(Subquery(nodes.annotate(count=Count("pk")).values("count")), 0)


@admin.register(IndexBuild)
class IndexBuildAdmin(UndeletableRowAdmin):
    list_display = [
        "__str__", "state", "progress", "copied_count", "embedded_count", "promotion", "measured",
        "paused", "problem", "writing_problem", "fingerprint", "created_at",
    ]  # fmt: skip
    list_filter = ["state", IndexFilter]
    long_fields = ["recipe"]
    readonly_fields = [
        "progress", "missing", "copied_count", "embedded_count", "embedded_tokens", "paused",
        "comparison_table",
        "problem", "writing_problem", "promoted_at", "retired_at", "created_at",
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counts = {
            f"{state}_count": _count_nodes_query(NOT_SYNCED, Q(state=state))
            for state in (Node.State.PENDING, Node.State.DELETING, Node.State.FAILED)
        }
        return super().get_queryset(request).annotate(node_count=_count_nodes_query(), **counts)

    @admin.display(description="nodes synced")
    def progress(self, build: Any) -> str:
        total = build.node_count - build.deleting_count
        synced = total - build.pending_count - build.failed_count
        failed = f", {build.failed_count:,} failed" if build.failed_count else ""
        return f"{synced:,} of {total:,}{failed}"

    @admin.display(description="missing documents")
    def missing(self, build: IndexBuild) -> str:
        if build.state in {IndexBuild.State.LIVE, IndexBuild.State.RETIRED}:
            return "-"
        return f"{lifecycle.count_missing(build):,}"

    @admin.display(description="compared with the live build")
    def measured(self, build: IndexBuild) -> str:
        return summarise_comparison(build.comparison)

    @admin.display(description="compared with the live build")
    def comparison_table(self, build: IndexBuild) -> str:
        return format_html("<pre>{}</pre>", "\n".join(describe_comparison(build.comparison)))

    @admin.display
    def paused(self, build: IndexBuild) -> str:
        return "" if build.paused_at is None else build.pause_reason or "yes"


@admin.register(Node)
class NodeAdmin(UndeletableRowAdmin):
    list_display = ["point_id", "kind", "title", "build", "state", "attempts", "error", "synced_at"]
    list_filter = ["state", KindFilter, IndexFilter]
    index_lookup = "build__index"
    list_select_related = ["build"]
    search_fields = ["artifact__title"]
    search_help_text = "Title, or the id of the point, its artifact or its source."
    long_fields = ["text", "context", "details", "last_error", "build__recipe"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Node]:
        # No join, because it would leave out nodes whose artifact is already deleted.
        title = Artifact.objects.filter(pk=OuterRef("artifact_id")).values("title")
        return (
            super()
            .get_queryset(request)
            .annotate(artifact_title=title[:1], error=Left("last_error", ERROR_CHARS))
        )

    def id_condition(self, searched_id: UUID) -> Q:
        builds: Sequence[int] = [*IndexBuild.objects.values_list("pk", flat=True)]
        points = Q(build__in=builds, point_id=searched_id)  # the database index begins with builds
        return points | Q(artifact=searched_id) | Q(source=searched_id)

    @admin.display(description="artifact")
    def title(self, node: Any) -> str | None:
        return node.artifact_title

    @admin.display(description="last error")
    def error(self, node: Any) -> str:
        return node.error
