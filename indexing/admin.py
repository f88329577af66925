"""Indexes, builds and the ledger in the admin: to look at, and to have work done again."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.translation import ngettext

from documents.admin import ArtifactAdmin, IndexFilter, Listed, LookedAt, selected
from documents.models import Artifact
from indexing import services, tasks
from indexing.models import Index, IndexBuild, Node
from indexing.spec import COLLECTIONS

ERROR_CHARS = 200  # of an error, in a list


class Kept(LookedAt):
    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class IndexOfBuildFilter(IndexFilter):
    lookup = "build__index"


class KindFilter(admin.SimpleListFilter):
    title = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind.replace("_", " ")) for kind in COLLECTIONS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Node]) -> QuerySet[Node]:
        kind = self.value()
        return queryset if kind is None else queryset.filter(kind=kind)


def wake_settling() -> None:
    """Once this is committed, have the builds settled that have something to settle."""
    pending = Node.objects.filter(build=OuterRef("pk"), state=Node.State.PENDING)
    builds = IndexBuild.objects.receiving().filter(Exists(pending))
    for build_id in builds.values_list("pk", flat=True):
        transaction.on_commit(partial(tasks.settle.delay, build_id=build_id), robust=True)


def say_queued(model_admin: Listed, request: HttpRequest, node_count: int) -> None:
    message = ngettext("%d node queued.", "%d nodes queued.", node_count) % node_count
    model_admin.message_user(request, message, messages.SUCCESS)


@admin.action(description="Embed again", permissions=["queue"])
def embed_artifacts_again(
    model_admin: Listed, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    count = services.embed_again(Node.objects.filter(artifact__in=selected(queryset)))
    wake_settling()
    say_queued(model_admin, request, count)


ArtifactAdmin.actions.append(embed_artifacts_again)


@admin.register(Index)
class IndexAdmin(Kept):
    list_display = ["name", "live_build", "created_at"]
    list_select_related = ["live_build"]
    long_fields = ["live_build__recipe"]
    actions = ["sweep"]

    @admin.action(description="Sweep now", permissions=["queue"])
    def sweep(self, request: HttpRequest, queryset: QuerySet[Index]) -> None:
        """Sweeps look through every index; what they find, they queue by index."""
        tasks.wake_sweeps()
        count = queryset.count()
        message = ngettext("Sweeping %d index.", "Sweeping %d indexes.", count) % count
        self.message_user(request, message, messages.SUCCESS)


@admin.register(IndexBuild)
class IndexBuildAdmin(Kept):
    list_display = ["__str__", "state", "problem", "writing_problem", "fingerprint", "created_at"]
    list_filter = ["state", IndexFilter]
    long_fields = ["recipe"]


@admin.register(Node)
class NodeAdmin(Kept):
    list_display = [
        "point_id",
        "kind",
        "title",
        "build",
        "state",
        "attempts",
        "error",
        "settled_at",
    ]
    list_filter = ["state", KindFilter, IndexOfBuildFilter]
    list_select_related = ["build"]
    search_fields = ["artifact__title"]
    search_help_text = "Title, or the id of the point, its artifact or its source."
    long_fields = ["text", "context", "details", "last_error", "build__recipe"]
    actions = ["embed_again", "retry_failed"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Node]:
        # Not joined: a node may outlive its artifact, and it would drop out of the list.
        title = Artifact.objects.filter(pk=OuterRef("artifact_id")).values("title")
        return (
            super()
            .get_queryset(request)
            .annotate(artifact_title=title[:1], error=Left("last_error", ERROR_CHARS))
        )

    def has_id(self, wanted: UUID) -> Q:
        builds: Sequence[int] = [*IndexBuild.objects.values_list("pk", flat=True)]
        points = Q(build__in=builds, point_id=wanted)  # the one index there is begins with builds
        return points | Q(artifact=wanted) | Q(source=wanted)

    @admin.display(description="artifact")
    def title(self, node: Any) -> str | None:
        return node.artifact_title

    @admin.display(description="last error")
    def error(self, node: Any) -> str:
        return node.error

    @admin.action(description="Embed again", permissions=["queue"])
    def embed_again(self, request: HttpRequest, queryset: QuerySet[Node]) -> None:
        count = services.embed_again(selected(queryset))
        wake_settling()
        say_queued(self, request, count)

    @admin.action(description="Retry failed", permissions=["queue"])
    def retry_failed(self, request: HttpRequest, queryset: QuerySet[Node]) -> None:
        count = services.retry_failed(selected(queryset))
        wake_settling()
        say_queued(self, request, count)
