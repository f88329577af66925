"""The admin of indexes, builds and nodes lists them, and has documents, builds and nodes embedded,
written and read again. The page of the indexes builds, promotes and retries."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left
from django.http import HttpRequest
from django.utils.html import format_html

from core.admin import Effect, UndeletableRowAdmin, confirmed_action, name_targets
from documents.admin import ArtifactAdmin, IndexFilter
from documents.models import Artifact
from documents.reading import find_outdated_artifacts
from indexing import lifecycle
from indexing.comparison_text import describe_comparison, summarise_comparison
from indexing.kinds import KINDS
from indexing.models import (
    NOT_SYNCED,
    Index,
    IndexBuild,
    IndexedDocument,
    Node,
    SearchSettings,
)
from indexing.services import reembed_nodes, regenerate_documents
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.tasks import (
    PROMOTE_BUILDS,
    RECONCILE_INDEXES,
    RECONCILE_TEXTS,
    enqueue_reconciliation,
)

ERROR_CHARS = 200  # of an error, in a list
WRITTEN_TYPES = ("summary", "question")  # of nodes whose texts a language model or rules write
WRITTEN_KINDS = [name for name, kind in KINDS.items() if kind.regeneration_type in WRITTEN_TYPES]

# A build, ids of its documents, and kinds of their nodes.
Writing = tuple[IndexBuild, Sequence[UUID], Sequence[str]]


def embed_again(nodes: QuerySet[Node], targets: Sequence[tuple[str, str]]) -> Effect:
    """Have these nodes embedded again, in all builds that are not retired."""
    not_retired = IndexBuild.objects.not_retired().order_by().values("pk")
    nodes = nodes.filter(build__in=not_retired).exclude(state=Node.State.DELETING)
    count = nodes.count()

    def carry_out() -> str:
        changed = reembed_nodes(nodes)
        enqueue_reconciliation(RECONCILE_INDEXES)
        return f"Nodes that are embedded again: {changed:,}."

    return Effect(f"Nodes that are embedded again: {count:,}.", count, targets, carry_out)


def _write_again(work: Iterable[Writing], targets: Sequence[tuple[str, str]]) -> Effect:
    """Have the texts of these kinds written again, and then embedded."""
    work = [
        (build, part, kinds)
        for build, ids, kinds in work
        for part in slices(sorted(ids), ROWS_PER_STATEMENT)
    ]
    count = sum(len(ids) for _, ids, _ in work)
    nodes = sum(
        Node.objects.filter(build=build, artifact__in=ids, kind__in=kinds).count()
        for build, ids, kinds in work
    )
    told = (
        f"Documents whose summaries and questions are written again: {count:,}, with {nodes:,} "
        "texts at present. Those written by hand stay."
    )

    def carry_out() -> str:
        for build, ids, kinds in work:
            regenerate_documents(build.pk, ids, kinds)
        enqueue_reconciliation(RECONCILE_INDEXES, RECONCILE_TEXTS)
        return told

    return Effect(told, count, targets, carry_out)


def _find_writing(documents: QuerySet[IndexedDocument]) -> Iterable[Writing]:
    for build in IndexBuild.objects.not_retired().readable():
        kinds = [kind for kind in build.spec.kinds if kind in WRITTEN_KINDS]
        ids = documents.filter(build=build).values_list("artifact_id", flat=True)
        if kinds and (found := list(ids)):
            yield build, found, kinds


admin.site.unregister(Artifact)


@admin.register(Artifact)
class IndexedArtifactAdmin(ArtifactAdmin):
    """Artifacts, with what is done again to their nodes."""

    actions = ["embed_again", "write_again", *ArtifactAdmin.actions]

    @confirmed_action("Embed again")
    def embed_again(self, request: HttpRequest, queryset: QuerySet[Artifact]) -> Effect:
        nodes = Node.objects.filter(artifact__in=queryset.values("pk"))
        return embed_again(nodes, name_targets(queryset, "pk"))

    @confirmed_action("Write again")
    def write_again(self, request: HttpRequest, queryset: QuerySet[Artifact]) -> Effect:
        documents = IndexedDocument.objects.filter(artifact__in=queryset.values("pk"))
        return _write_again(_find_writing(documents), name_targets(queryset, "pk"))


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
    actions = ["embed_again", "write_again", "read_again"]
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

    @confirmed_action("Embed again")
    def embed_again(self, request: HttpRequest, queryset: QuerySet[IndexBuild]) -> Effect:
        nodes = Node.objects.filter(build__in=queryset.values("pk"))
        return embed_again(nodes, name_targets(queryset))

    @confirmed_action("Write again")
    def write_again(self, request: HttpRequest, queryset: QuerySet[IndexBuild]) -> Effect:
        documents = IndexedDocument.objects.filter(build__in=queryset.values("pk"))
        return _write_again(_find_writing(documents), name_targets(queryset))

    @confirmed_action("Read again")
    def read_again(self, request: HttpRequest, queryset: QuerySet[IndexBuild]) -> Effect:
        """Make a build of each index that reads its documents anew, as ``apply --reread`` does."""
        indexes = Index.objects.filter(pk__in=queryset.values("index"), removal_requested_at=None)
        outdated = {
            index.name: len(find_outdated_artifacts(index.name, index.live_reading))
            for index in indexes.select_related("live_build")
        }
        count = sum(outdated.values())
        told = (
            "Documents that another reader has read than would read them now: "
            f"{count:,}, in {', '.join(sorted(outdated))}."
        )

        def carry_out() -> str:
            builds = [
                lifecycle.apply_spec(name, rereads=True) for name, few in outdated.items() if few
            ]
            enqueue_reconciliation(RECONCILE_INDEXES, PROMOTE_BUILDS)
            made = ", ".join(str(build) for build in builds)
            return f"Builds that read them anew, to be promoted once complete: {made}."

        return Effect(
            f"{told} Each index gets a new build by its current spec, which reads them anew."
            if count
            else told,
            count,
            [(name, "") for name, few in outdated.items() if few],
            carry_out,
        )

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
    actions = ["embed_again", "write_again"]
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

    @confirmed_action("Embed again")
    def embed_again(self, request: HttpRequest, queryset: QuerySet[Node]) -> Effect:
        return embed_again(queryset, name_targets(queryset, "artifact_id"))

    @confirmed_action("Write again")
    def write_again(self, request: HttpRequest, queryset: QuerySet[Node]) -> Effect:
        """The texts of one kind are written together for each document."""
        written = queryset.filter(kind__in=WRITTEN_KINDS).exclude(state=Node.State.DELETING)
        builds = {build.pk: build for build in IndexBuild.objects.not_retired().readable()}
        ids: dict[tuple[int, str], list[UUID]] = {}
        for build_id, kind, artifact_id in (
            written.order_by().values_list("build", "kind", "artifact").distinct()
        ):
            if build_id in builds:
                ids.setdefault((build_id, kind), []).append(artifact_id)
        work = [(builds[build_id], mine, [kind]) for (build_id, kind), mine in ids.items()]
        return _write_again(work, name_targets(written, "artifact_id"))

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
