"""The admin of indexes, builds and nodes: lists them and offers actions that repeat or control
their work."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html

from core.admin import ServiceRowAdmin, UndeletableRowAdmin, offer_actions, select_rows
from core.enqueueing import enqueue_on_commit
from core.exceptions import StrataError
from documents.admin import IndexFilter
from documents.models import Artifact
from indexing import lifecycle, services, tasks
from indexing.admin.regenerations import (
    regenerate_artifacts,
    regenerate_indexes,
    regenerate_missing_of_artifacts,
    regenerate_missing_of_indexes,
    regenerate_nodes,
)
from indexing.comparison_text import describe_comparison, summarise_comparison
from indexing.kinds import KINDS
from indexing.models import NOT_SYNCED, Index, IndexBuild, Node, SearchSettings

ERROR_CHARS = 200  # of an error, in a list


class LifecycleAdmin(UndeletableRowAdmin):
    """Base of indexes and builds, whose actions may fail for a row or ask for confirmation."""

    def run_for_each(
        self, request: HttpRequest, rows: Iterable[Any], act: Callable[[Any], str]
    ) -> None:
        """Run an action on each row and show its result; an error of one row does not stop the
        others."""
        for row in rows:
            try:
                message, level = act(row), messages.SUCCESS
            except StrataError as error:
                message, level = f"{row}: {error.with_fix()}", messages.ERROR
            self.message_user(request, message, level)

    def ask_confirmation(
        self,
        request: HttpRequest,
        action: str,
        question: str,
        rows: Sequence[tuple[Model, str]],  # with a description of each
    ) -> HttpResponse | None:
        """A page that asks to confirm an action; None if the user has confirmed it."""
        if request.POST.get("confirmed"):
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": "Are you sure?",
            "opts": self.opts,
            "action": action,
            "question": question,
            "rows": rows,
            "checkbox_name": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/indexing/confirm.html", context)


class IndexOfBuildFilter(IndexFilter):
    lookup = "build__index"


class KindFilter(admin.SimpleListFilter):
    title = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind.replace("_", " ")) for kind in KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Node]) -> QuerySet[Node]:
        kind = self.value()
        return queryset if kind is None else queryset.filter(kind=kind)


def enqueue_sync_of_pending_builds() -> None:
    """After the commit, enqueue syncing of the builds that have pending nodes."""
    pending = Node.objects.filter(build=OuterRef("pk"), state=Node.State.PENDING)
    builds = IndexBuild.objects.not_retired().filter(Exists(pending))
    for build_id in builds.values_list("pk", flat=True):
        enqueue_on_commit(tasks.sync_nodes, build_id=build_id)


def show_queued(model_admin: ServiceRowAdmin, request: HttpRequest, node_count: int) -> None:
    model_admin.show_count(request, "%d node queued.", "%d nodes queued.", node_count)


@admin.action(description="Embed again", permissions=["queue"])
def embed_artifacts_again(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    count = services.reembed_nodes(Node.objects.filter(artifact__in=select_rows(queryset)))
    enqueue_sync_of_pending_builds()
    show_queued(model_admin, request, count)


offer_actions(
    Artifact, embed_artifacts_again, regenerate_artifacts, regenerate_missing_of_artifacts
)


@admin.register(Index)
class IndexAdmin(LifecycleAdmin):
    list_display = ["name", "live_build", "search_settings", "created_at"]
    list_select_related = ["live_build", "search_settings"]
    long_fields = ["live_build__recipe", "search_settings__content"]
    actions = [
        "reconcile", "verify", "verify_and_repair", "apply_spec", "roll_back", "prune",
        regenerate_indexes, regenerate_missing_of_indexes,
    ]  # fmt: skip

    @admin.action(description="Reconcile now", permissions=["queue"])
    def reconcile(self, request: HttpRequest, queryset: QuerySet[Index]) -> None:
        """Enqueue the reconciliation, which always covers every index."""
        tasks.enqueue_reconciliation()
        count = queryset.count()
        self.show_count(request, "Reconciling %d index.", "Reconciling %d indexes.", count)

    @admin.action(description="Verify", permissions=["queue"])
    def verify(self, request: HttpRequest, queryset: QuerySet[Index]) -> None:
        self._queue_verifying(request, queryset, repair=False)

    @admin.action(description="Verify and repair", permissions=["queue"])
    def verify_and_repair(self, request: HttpRequest, queryset: QuerySet[Index]) -> None:
        self._queue_verifying(request, queryset, repair=True)

    def _queue_verifying(
        self, request: HttpRequest, queryset: QuerySet[Index], *, repair: bool
    ) -> None:
        """Enqueue the verification, which may take minutes; each build keeps its report."""
        builds = IndexBuild.objects.not_retired().filter(index__in=select_rows(queryset))
        for build in builds:
            enqueue_on_commit(tasks.verify_build, build_id=build.pk, repair=repair)
        self.show_count(
            request,
            "Verifying %d build. The report will appear on its page.",
            "Verifying %d builds. The reports will appear on their pages.",
            len(builds),
        )

    @admin.action(description="Apply the spec", permissions=["queue"])
    def apply_spec(self, request: HttpRequest, queryset: QuerySet[Index]) -> None:
        def apply(index: Index) -> str:
            build = lifecycle.apply_spec(index.name)
            if build.state == IndexBuild.State.LIVE:
                return f"{build} is live and already matches this spec."
            return f"{build} is being built beside the live build."

        self.run_for_each(request, select_rows(queryset), apply)
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES)

    @admin.action(description="Roll back", permissions=["queue"])
    def roll_back(self, request: HttpRequest, queryset: QuerySet[Index]) -> None:
        def go_back(index: Index) -> str:
            return f"{lifecycle.roll_back_index(index.name)} is live again."

        self.run_for_each(request, select_rows(queryset), go_back)
        enqueue_on_commit(tasks.reconcile_store)

    @admin.action(description="Prune", permissions=["queue"])
    def prune(self, request: HttpRequest, queryset: QuerySet[Index]) -> HttpResponse | None:
        def give_up_standby(index: Index) -> str:
            pruned = lifecycle.prune_builds(index.name)
            names = ", ".join(str(build) for build in pruned)
            return f"{names} is given up." if names else f"{index} has no standby build."

        indexes = select_rows(queryset)
        question = (
            "Give up the standby builds? Their points are removed, and you can no longer roll back."
        )
        page = self.ask_confirmation(request, "prune", question, [(index, "") for index in indexes])
        if page is None:
            self.run_for_each(request, indexes, give_up_standby)
        return page


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
class IndexBuildAdmin(LifecycleAdmin):
    list_display = [
        "__str__", "state", "progress", "copied_count", "embedded_count", "promotion", "measured",
        "verdict", "paused", "problem", "writing_problem", "fingerprint", "created_at",
    ]  # fmt: skip
    list_filter = ["state", IndexFilter]
    long_fields = ["recipe"]
    readonly_fields = [
        "progress", "missing", "copied_count", "embedded_count", "embedded_tokens", "paused",
        "verdict", "verified_at", "report", "comparison_table",
        "problem", "writing_problem", "promoted_at", "retired_at", "created_at",
    ]  # fmt: skip
    actions = ["promote", "force_promotion", "pause", "resume", "give_up"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counts = {
            f"{state}_count": _count_nodes_query(NOT_SYNCED, Q(state=state))
            for state in (Node.State.PENDING, Node.State.DELETING, Node.State.FAILED)
        }
        return super().get_queryset(request).annotate(node_count=_count_nodes_query(), **counts)

    @admin.display(description="verified")
    def verdict(self, build: IndexBuild) -> str:
        """The last report in one line."""
        if build.report is None:
            return "never"
        if error := build.report.get("error"):
            return f"stopped by an error: {error}"
        counts = ", ".join(f"{count} {sort}" for sort, count in build.report["findings"].items())
        return counts or "no errors"

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

    @admin.action(description="Promote when complete", permissions=["queue"])
    def promote(self, request: HttpRequest, queryset: QuerySet[IndexBuild]) -> None:
        def ask(build: IndexBuild) -> str:
            lifecycle.request_promotion(build)
            return f"{build} will be promoted when complete, unless it is significantly worse."

        self.run_for_each(request, select_rows(queryset), ask)

    @admin.action(description="Promote without checks", permissions=["queue"])
    def force_promotion(
        self, request: HttpRequest, queryset: QuerySet[IndexBuild]
    ) -> HttpResponse | None:
        def force(build: IndexBuild) -> str:
            lifecycle.request_promotion(build, is_forced=True)
            return f"{build} will be promoted within seconds."

        builds = select_rows(queryset).select_related("index__live_build")
        question = (
            "Promote these builds now, even if they are incomplete or worse than the live build?"
        )
        rows = [(build, self._describe_losses(build)) for build in builds]
        page = self.ask_confirmation(request, "force_promotion", question, rows)
        if page is None:
            self.run_for_each(request, builds, force)
        return page

    @admin.action(description="Pause", permissions=["queue"])
    def pause(self, request: HttpRequest, queryset: QuerySet[IndexBuild]) -> None:
        def pause(build: IndexBuild) -> str:
            lifecycle.pause_build(build, f"Paused by {request.user}.")
            return f"{build} is paused."

        self.run_for_each(request, select_rows(queryset), pause)

    @admin.action(description="Resume", permissions=["queue"])
    def resume(self, request: HttpRequest, queryset: QuerySet[IndexBuild]) -> None:
        def resume(build: IndexBuild) -> str:
            lifecycle.resume_build(build)
            return f"{build} is resumed."

        self.run_for_each(request, select_rows(queryset), resume)
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES, tasks.RECONCILE_TEXTS)

    @admin.action(description="Give up", permissions=["queue"])
    def give_up(self, request: HttpRequest, queryset: QuerySet[IndexBuild]) -> HttpResponse | None:
        def give_up(build: IndexBuild) -> str:
            lifecycle.cancel_build(build)
            return f"{build} is given up."

        builds = select_rows(queryset)
        question = "Give up these builds? Everything made for them is removed."
        rows = [(build, f"{build.copied_count + build.embedded_count:,} nodes") for build in builds]
        page = self.ask_confirmation(request, "give_up", question, rows)
        if page is None:
            self.run_for_each(request, builds, give_up)
        return page

    def _describe_losses(self, build: IndexBuild) -> str:
        failed = lifecycle.find_failed_artifacts(build).count()
        failed += lifecycle.count_newly_failed_standalone_nodes(build)
        lost = [
            f"missing documents: {self.missing(build)}",
            f"documents that failed only in this build: {failed:,}",
        ]
        return ", ".join([*lost, *filter(None, [self.measured(build)])])


@admin.register(Node)
class NodeAdmin(UndeletableRowAdmin):
    list_display = [
        "point_id",
        "kind",
        "title",
        "build",
        "state",
        "attempts",
        "error",
        "synced_at",
    ]
    list_filter = ["state", KindFilter, IndexOfBuildFilter]
    list_select_related = ["build"]
    search_fields = ["artifact__title"]
    search_help_text = "Title, or the id of the point, its artifact or its source."
    long_fields = ["text", "context", "details", "last_error", "build__recipe"]
    actions = ["embed_again", "retry_failed", regenerate_nodes]

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

    @admin.action(description="Embed again", permissions=["queue"])
    def embed_again(self, request: HttpRequest, queryset: QuerySet[Node]) -> None:
        count = services.reembed_nodes(select_rows(queryset))
        enqueue_sync_of_pending_builds()
        show_queued(self, request, count)

    @admin.action(description="Retry failed", permissions=["queue"])
    def retry_failed(self, request: HttpRequest, queryset: QuerySet[Node]) -> None:
        count = services.retry_failed_nodes(select_rows(queryset))
        enqueue_sync_of_pending_builds()
        show_queued(self, request, count)
