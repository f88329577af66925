"""Makes documents of builds due when artifacts change, and counts their nodes when these change."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from core.leases import FRESH
from documents.models import Artifact
from indexing.models import IndexBuild, IndexedDocument, Node, NodeCountChange
from indexing.services.batches import ROWS_PER_STATEMENT, slices

State = IndexedDocument.State
NOW = Now()  # the database's clock
DUE: dict[str, Any] = {"state": State.DUE, "due_at": NOW, **FRESH}
COUNT_FIELDS = {f"{state}_count": state for state in Node.State}  # field -> what it counts
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


def regenerate_documents(
    build_id: int, artifact_ids: Collection[UUID], kinds: Collection[str]
) -> None:
    """Make documents of a build due, so that all their nodes of these kinds are embedded again, and
    the texts of the nodes written again. Artifacts that it has not planned yet need no request."""
    documents = IndexedDocument.objects.filter(build=build_id, artifact__in=artifact_ids)
    with transaction.atomic():
        locked = documents.select_for_update().order_by("pk")
        earlier = locked.values_list("kinds_to_regenerate", flat=True)
        for requested in {tuple(each) for each in earlier}:
            documents.filter(kinds_to_regenerate=list(requested)).update(
                kinds_to_regenerate=sorted({*requested, *kinds}), **DUE
            )


def make_artifact_due(artifact_id: UUID, index: str) -> list[int]:
    """Make an artifact due in every build of its index; return the builds' ids."""
    builds = IndexBuild.objects.not_retired().filter(index=index)
    build_ids = list(builds.values_list("pk", flat=True))
    make_documents_due(build_ids, [artifact_id])
    return build_ids


def make_removed_artifact_due(artifact_id: UUID) -> list[int]:
    """Make a deleted artifact due in every build, so that its nodes are deleted, and erase their
    texts at once; return the builds' ids."""
    Node.objects.filter(artifact=artifact_id).update(text="", context="", details={})
    documents = IndexedDocument.objects.filter(artifact=artifact_id)
    documents.update(is_unread=False, **DUE)
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
        parts = list(slices(sorted(filter(None, artifact_ids)), ROWS_PER_STATEMENT))
        for part in parts:
            _lock_documents(build_id, part)
        yield
        for part in parts:
            _count_nodes(build_id, part)


def _lock_documents(build_id: int, artifact_ids: Collection[UUID]) -> list[IndexedDocument]:
    documents = IndexedDocument.objects.filter(build=build_id, artifact__in=artifact_ids)
    locked = documents.select_for_update().order_by("pk")
    return list(locked.defer("content_hash", "input_versions"))


def _count_nodes(build_id: int, artifact_ids: Collection[UUID]) -> None:
    """Update the counts and states of these documents. Documents whose fields change to the same
    values share one statement."""
    counts: dict[UUID | None, Counter[str]] = defaultdict(Counter)
    nodes = Node.objects.filter(build=build_id, artifact__in=artifact_ids).order_by()
    for artifact_id, state, count in nodes.values_list("artifact", "state").annotate(Count("pk")):
        counts[artifact_id][state] = count
    synced_change = node_change = 0
    ids_by_change: dict[tuple[tuple[str, Any], ...], list[int]] = defaultdict(list)
    nodeless = []
    for document in _lock_documents(build_id, artifact_ids):
        count_of = counts[document.artifact_id]
        synced_change += count_of[Node.State.SYNCED] - document.synced_count
        node_change += count_of.total() - sum(getattr(document, name) for name in COUNT_FIELDS)
        if changed := _find_changed_values(document, count_of):
            ids_by_change[tuple(changed.items())].append(document.pk)
        if not count_of.total():
            nodeless.append(document.pk)
    for values, ids in ids_by_change.items():
        IndexedDocument.objects.filter(pk__in=ids).update(**dict(values))
    if synced_change or node_change:
        NodeCountChange.objects.create(
            build_id=build_id, synced_count=synced_change, node_count=node_change
        )
    if nodeless:
        artifact = Artifact.objects.filter(pk=OuterRef("artifact_id"))
        documents = IndexedDocument.objects.filter(~Exists(artifact), pk__in=nodeless)
        documents.exclude(state=State.DUE).delete()


def _find_changed_values(document: IndexedDocument, count_of: Counter[str]) -> dict[str, Any]:
    """The fields of a document that change because it has these numbers of nodes by state."""
    shown_at: Any = document.shown_at
    if not count_of.total():
        shown_at = None
    elif count_of[Node.State.SYNCED] and shown_at is None:
        shown_at = NOW
    values = {
        **{name: count_of[state] for name, state in COUNT_FIELDS.items()},
        "shown_at": shown_at,
        "state": _choose_state(document, count_of),
    }
    return {name: value for name, value in values.items() if value != getattr(document, name)}


def _choose_state(document: IndexedDocument, count_of: Counter[str]) -> str:
    if document.state == State.DUE:
        return State.DUE
    if count_of[Node.State.PENDING] or count_of[Node.State.DELETING]:
        return State.SYNCING
    if document.unwritten_kinds:
        return State.WAITING
    if count_of[Node.State.FAILED] or document.last_error:
        return State.FAILED
    return State.READY
