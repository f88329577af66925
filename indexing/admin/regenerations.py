"""The admin of regenerations, and the actions that start one."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import ngettext

from core.admin import ReadOnlyAdmin, ServiceRowAdmin, select_rows
from core.enqueueing import enqueue_on_commit
from core.exceptions import StrataError
from documents.admin import IndexFilter
from documents.models import Artifact
from indexing import tasks
from indexing.kinds import KINDS
from indexing.models import Index, Node, Regeneration
from indexing.regeneration import ALL_TYPES, begin_regeneration, cancel_regeneration

RegenerationRequest = tuple[
    list[str], dict[str, Any]
]  # types, and the other arguments of begin_regeneration


def _start_regenerations(
    model_admin: ServiceRowAdmin, request: HttpRequest, regenerations: Iterable[RegenerationRequest]
) -> None:
    for types, scope in regenerations:
        try:
            regeneration = begin_regeneration(types, **scope)
        except StrataError as error:
            model_admin.message_user(request, error.with_fix(), messages.ERROR)
            continue
        enqueue_on_commit(tasks.regenerate, regeneration_id=str(regeneration.pk))
        count = regeneration.total_count
        of = ngettext("of %d document", "of %d documents", count) % count
        message = format_html(
            'Regenerating {} {}: <a href="{}">show progress</a>.',
            ", ".join(regeneration.types),
            of,
            reverse("admin:indexing_regeneration_change", args=[regeneration.pk]),
        )
        model_admin.message_user(request, message, messages.SUCCESS)


@admin.action(description="Regenerate everything: chunks, texts and vectors", permissions=["queue"])
def regenerate_indexes(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Index]
) -> None:
    _start_regenerations(
        model_admin,
        request,
        [([ALL_TYPES], {"index": index.pk}) for index in select_rows(queryset)],
    )


@admin.action(description="Regenerate missing nodes", permissions=["queue"])
def regenerate_missing_of_indexes(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Index]
) -> None:
    regenerations: list[RegenerationRequest] = [
        ([ALL_TYPES], {"index": index.pk, "is_for_missing": True})
        for index in select_rows(queryset)
    ]
    _start_regenerations(model_admin, request, regenerations)


@admin.action(description="Regenerate everything: chunks, texts and vectors", permissions=["queue"])
def regenerate_artifacts(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    artifact_ids = list(select_rows(queryset).values_list("pk", flat=True))
    _start_regenerations(model_admin, request, [([ALL_TYPES], {"artifact_ids": artifact_ids})])


@admin.action(description="Regenerate missing nodes", permissions=["queue"])
def regenerate_missing_of_artifacts(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    artifact_ids = list(select_rows(queryset).values_list("pk", flat=True))
    regenerations: list[RegenerationRequest] = [
        ([ALL_TYPES], {"artifact_ids": artifact_ids, "is_for_missing": True})
    ]
    _start_regenerations(model_admin, request, regenerations)


@admin.action(
    description="Regenerate all nodes of the same type in these documents", permissions=["queue"]
)
def regenerate_nodes(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Node]
) -> None:
    """Whole documents, because all chunks of a document are cut together."""
    artifacts: dict[str, set[UUID]] = {}
    for kind, artifact_id in select_rows(queryset).values_list("kind", "artifact_id").distinct():
        artifacts.setdefault(KINDS[kind].regeneration_type, set()).add(artifact_id)
    regenerations: list[RegenerationRequest] = [
        ([each], {"artifact_ids": ids}) for each, ids in artifacts.items()
    ]
    _start_regenerations(model_admin, request, regenerations)


@admin.register(Regeneration)
class RegenerationAdmin(ReadOnlyAdmin):
    list_display = [
        "started_at", "what", "index", "state", "progress", "due_artifact_count", "due_node_count",
        "due_text_count", "failed_count", "last_error", "finished_at",
    ]  # fmt: skip
    list_filter = ["state", IndexFilter]
    long_fields = ["artifact_ids"]
    id_fields = ["pk"]
    search_fields = ["index__name"]
    search_help_text = "Index name, or regeneration id."
    exclude = ["artifact_ids", "lease_token", "leased_until"]
    actions = ["cancel"]

    @admin.display(description="types")
    def what(self, regeneration: Regeneration) -> str:
        only = {"missing": regeneration.is_for_missing, "stale": regeneration.is_for_stale}
        narrowed = " and ".join(name for name, is_set in only.items() if is_set)
        types = ", ".join(filter(None, [*regeneration.types, regeneration.category]))
        return types + (f" (only {narrowed})" if narrowed else "")

    @admin.display(description="documents")
    def progress(self, regeneration: Regeneration) -> str:
        return f"{regeneration.done_count:,} of {regeneration.total_count:,}"

    @admin.action(description="Cancel", permissions=["queue"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Regeneration]) -> None:
        running = [*select_rows(queryset).filter(state=Regeneration.State.RUNNING)]
        for regeneration in running:
            cancel_regeneration(regeneration)
        self.show_count(
            request, "%d regeneration cancelled.", "%d regenerations cancelled.", len(running)
        )
