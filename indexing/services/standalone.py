"""Plans standalone nodes, whose kinds have one node for each row of a table.

They need no queue: code that writes such a row plans its node in the same transaction. The
reconciliation plans rows that were written otherwise, and the nodes of a new build.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from indexing.drafting import get_standalone_drafters
from indexing.models import IndexBuild, Node
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.services.rows import (
    draft_standalone_rows,
    find_current_turn,
    mark_deleting,
    write_rows,
)


def plan_standalone_nodes(kind: str, index: str, ids: Collection[UUID]) -> list[int]:
    """Make the ledger match the current state of these rows, deleted ones included, in every build
    of the index that holds this kind; return the builds' ids."""
    builds = IndexBuild.objects.not_retired().filter(index=index)
    planned = [build for build in builds.readable() if kind in build.spec.kinds]
    for build in planned:
        plan_standalone_rows(kind, build, ids)
    return [build.pk for build in planned]


def plan_unannounced_standalone_nodes(build: IndexBuild) -> int:
    """Plan the nodes of a new build, and of rows that were written or deleted in bulk or by raw
    SQL; return the number of rows."""
    count = 0
    for kind in get_standalone_drafters(build):
        ids = [*find_unplanned_rows(kind, build).values_list("pk", flat=True)]
        ids += _find_orphaned_nodes(kind, build).values_list("point_id", flat=True)
        for part in slices(ids, ROWS_PER_STATEMENT):
            plan_standalone_rows(kind, build, part)
        count += len(ids)
    return count


def count_standalone_rows(build: IndexBuild) -> int:
    """How many rows must have a node in this build."""
    drafters = get_standalone_drafters(build).values()
    return sum(drafter.find_rows(build.index_id).count() for drafter in drafters)


def count_unfinished_standalone_rows(build: IndexBuild) -> int:
    """How many rows still wait for their node in this build. If the live build holds the kind, only
    rows that it shows count."""
    live = build.index.live_build
    count = 0
    for kind, drafter in get_standalone_drafters(build).items():
        nodes = Node.objects.filter(kind=kind, point_id=OuterRef("pk"))
        finished = nodes.filter(
            build=build,
            text_hash=OuterRef("text_hash"),
            state__in=[Node.State.SYNCED, Node.State.FAILED],
        )
        rows = drafter.find_rows(build.index_id).filter(~Exists(finished))
        if live is not None and live.pk != build.pk and kind in live.spec.kinds:
            rows = rows.filter(Exists(nodes.filter(build=live, state=Node.State.SYNCED)))
        count += rows.count()
    return count


def plan_standalone_rows(kind: str, build: IndexBuild, ids: Collection[UUID]) -> None:
    """Make the ledger of one build match the current state of these rows, deleted ones included."""
    with transaction.atomic():
        drafts = draft_standalone_rows(kind, ids, build)
        turn = find_current_turn(build)
        for draft in drafts:
            draft.turn = turn
        drafted_ids = {draft.point_id for draft in drafts}
        write_rows(build, drafts, known_ids=drafted_ids)
        nodes = Node.objects.filter(build=build, kind=kind, point_id__in=set(ids) - drafted_ids)
        vanished = nodes.exclude(state=Node.State.DELETING).values_list("pk", flat=True)
        mark_deleting(sorted(vanished))


def find_unplanned_rows(kind: str, build: IndexBuild) -> QuerySet[Any]:
    """Rows of a standalone kind without a node for their current text in this build."""
    planned = _find_planned_nodes(kind, build).filter(
        point_id=OuterRef("pk"), text_hash=OuterRef("text_hash")
    )
    return get_standalone_drafters(build)[kind].find_rows(build.index_id).filter(~Exists(planned))


def _find_orphaned_nodes(kind: str, build: IndexBuild) -> QuerySet[Node]:
    rows = get_standalone_drafters(build)[kind].find_rows(build.index_id)
    return _find_planned_nodes(kind, build).filter(~Exists(rows.filter(pk=OuterRef("point_id"))))


def _find_planned_nodes(kind: str, build: IndexBuild) -> QuerySet[Node]:
    return Node.objects.filter(build=build, kind=kind).exclude(state=Node.State.DELETING)
