"""Makes documents of builds due when artifacts change, and counts their nodes when these change."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from core.leases import FRESH
from documents.models import Artifact
from indexing.models import IndexBuild, IndexedDocument, Node, NodeCountChange
from indexing.services.batches import ROWS_PER_STATEMENT, slices

State = IndexedDocument.State
DUE: dict[str, Any] = {"state": State.DUE, "due_at": Now(), **FRESH}
PLANNABLE_STATES = (Artifact.State.PARSED, Artifact.State.FAILED)


def make_documents_due(build_ids: Collection[int], artifact_ids: Collection[UUID]) -> None:
    """Make these artifacts due for planning in these builds. A worker that is planning one loses
    its claim."""
    now = timezone.now()
    IndexedDocument.objects.bulk_create(
        [
            IndexedDocument(build_id=build_id, artifact_id=artifact_id, due_at=now)
            for build_id in build_ids
            for artifact_id in sorted(artifact_ids)
        ],
        update_conflicts=True,
        unique_fields=["build", "artifact"],
        update_fields=["state", "due_at", *FRESH],
        batch_size=ROWS_PER_STATEMENT,
    )


def make_artifact_due(artifact_id: UUID, index: str) -> list[int]:
    """Make an artifact due in every build of its index; return the builds' ids."""
    builds = IndexBuild.objects.not_retired().filter(index=index)
    build_ids = list(builds.values_list("pk", flat=True))
    make_documents_due(build_ids, [artifact_id])
    return build_ids


def make_removed_artifact_due(artifact_id: UUID) -> list[int]:
    """Make a deleted artifact due in every build, so that its nodes are deleted; return the builds'
    ids."""
    documents = IndexedDocument.objects.filter(artifact=artifact_id)
    documents.update(**DUE)
    return list(documents.values_list("build", flat=True))


def make_unannounced_due(build: IndexBuild) -> int:
    """Make due changes that no signal announced, such as bulk writes and raw SQL: artifacts without
    a document in this build or with another revision, and documents of deleted artifacts. Return
    how many."""
    documents = IndexedDocument.objects.filter(build=build, artifact=OuterRef("pk"))
    current = documents.filter(
        Q(revision=OuterRef("revision")) | Q(state__in=[State.DUE, State.FAILED])
    )
    artifacts = Artifact.objects.filter(index=build.index_id, state__in=PLANNABLE_STATES)
    count = 0
    while ids := list(artifacts.filter(~Exists(current)).values_list("pk", flat=True)[:5_000]):
        make_documents_due([build.pk], ids)
        count += len(ids)
    artifact = Artifact.objects.filter(pk=OuterRef("artifact_id"))
    removed = IndexedDocument.objects.filter(~Exists(artifact), build=build)
    return count + removed.filter(state__in=[State.READY, State.WAITING, State.FAILED]).update(
        **DUE
    )


@contextmanager
def changing_nodes(build_id: int, artifact_ids: Collection[UUID | None]) -> Iterator[None]:
    """Run the block in a transaction that changes nodes of these artifacts, and count the nodes at
    its end. None, the artifact of standalone nodes, is ignored.

    The documents are locked first, always in the same order, which prevents deadlocks.
    """
    with transaction.atomic():
        parts = [
            IndexedDocument.objects.filter(build=build_id, artifact__in=part)
            for part in slices(sorted(filter(None, artifact_ids)), ROWS_PER_STATEMENT)
        ]
        for documents in parts:
            list(documents.select_for_update().order_by("pk").values_list("pk"))
        yield
        for documents in parts:
            _count_nodes(build_id, documents)


def _count_nodes(build_id: int, documents: QuerySet[IndexedDocument]) -> None:
    before = _sum_counts(documents)
    documents.update(
        pending_count=_node_count(Node.State.PENDING),
        synced_count=_node_count(Node.State.SYNCED),
        failed_count=_node_count(Node.State.FAILED),
        deleting_count=_node_count(Node.State.DELETING),
    )
    after = _sum_counts(documents)
    if after != before:
        NodeCountChange.objects.create(
            build_id=build_id,
            synced_count=after["synced"] - before["synced"],
            node_count=after["nodes"] - before["nodes"],
        )
    has_no_nodes = Q(pending_count=0, synced_count=0, failed_count=0, deleting_count=0)
    documents.update(
        shown_at=Case(
            When(has_no_nodes, then=None),
            When(synced_count__gt=0, then=Coalesce("shown_at", Now())),
            default=F("shown_at"),
        ),
        state=Case(
            When(state=State.DUE, then=Value(State.DUE)),
            When(Q(pending_count__gt=0) | Q(deleting_count__gt=0), then=Value(State.SYNCING)),
            When(~Q(unwritten_kinds=[]), then=Value(State.WAITING)),
            When(Q(failed_count__gt=0) | ~Q(last_error=""), then=Value(State.FAILED)),
            default=Value(State.READY),
        ),
    )
    artifact = Artifact.objects.filter(pk=OuterRef("artifact_id"))
    documents.filter(has_no_nodes, ~Exists(artifact)).exclude(state=State.DUE).delete()


def _sum_counts(documents: QuerySet[IndexedDocument]) -> dict[str, int]:
    all_states = F("pending_count") + F("synced_count") + F("failed_count") + F("deleting_count")
    return documents.aggregate(
        synced=Coalesce(Sum("synced_count"), 0), nodes=Coalesce(Sum(all_states), 0)
    )


def _node_count(state: Node.State) -> Any:
    nodes = Node.objects.filter(
        build=OuterRef("build"), artifact=OuterRef("artifact"), state=state
    ).order_by()
    return Coalesce(Subquery(nodes.values("build").annotate(n=Count("pk")).values("n")), 0)
