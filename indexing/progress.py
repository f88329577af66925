"""Counts the progress of each index for the ``status`` command, the API and the progress bars."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

import strata_types
from access.grants import EVERYTHING, Grant
from documents.groups import is_visible
from documents.models import Artifact
from documents.partial_reading import IS_PARTIAL
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.spec import FieldSpec
from indexing.spec.loaded import get_invalid_specs


def _describe_field(name: str, field: FieldSpec) -> strata_types.MetadataField:
    return {
        "name": name,
        "type": field.type,
        "many": field.many,
        "values": [each.value for each in field.values or ()],
        "closed": field.values is not None and field.closed,
        "description": field.description,
    }


def get_index_progress(
    name: str | None = None, grant: Grant = EVERYTHING
) -> list[strata_types.Index]:
    """Progress of one index, or of all sorted by name, in three grouped queries.

    Counts only the documents that the grant includes; if these are not all, no standalone nodes,
    which may be made from several documents.
    """
    builds = grant.limit(IndexBuild.objects.live())
    if name is not None:
        builds = builds.filter(index=name)
    builds = builds.order_by("index")
    live = [build.pk for build in builds]
    is_unfinished = ~Q(state__in=[IndexedDocument.State.READY, IndexedDocument.State.FAILED])
    is_unplanned = Q(state__in=[IndexedDocument.State.DUE, IndexedDocument.State.WAITING])
    documents = {
        row["build"]: row
        for row in IndexedDocument.objects.filter(is_visible(grant, "artifact__"), build__in=live)
        .values("build")
        .annotate(
            pending=Sum("pending_count"),
            synced=Sum("synced_count"),
            failed=Sum("failed_count"),
            deleting=Sum("deleting_count"),
            waiting=Count("pk", filter=is_unplanned),
            oldest=Min("due_at", filter=is_unfinished),
        )
    }
    standalone = {
        row["build"]: row
        for row in Node.objects.filter(
            build__in=live if grant.sees_all_documents else [], artifact=None
        )
        .values("build")
        .annotate(
            **{state: Count("pk", filter=Q(state=state)) for state in Node.State.values},
            oldest=Min("planned_at", filter=Q(state__in=[Node.State.PENDING, Node.State.DELETING])),
        )
    }
    artifacts: dict[tuple[str, str], Any] = {
        (row["index"], row["state"]): row
        for row in Artifact.objects.filter(is_visible(grant))
        .filter(index__in=[build.index_id for build in builds])
        .values("index", "state")
        .annotate(count=Count("pk"), partial=Count("pk", filter=IS_PARTIAL))
    }
    return [
        _make_progress(build, documents.get(build.pk, {}), standalone.get(build.pk, {}), artifacts)
        for build in builds
    ]


def count_nodes(builds: Sequence[IndexBuild]) -> dict[int, Counter[str]]:
    """The nodes of each build by state: the sums that its documents keep, and standalone nodes."""
    kept = {state: Sum(f"{state}_count") for state in Node.State.values}
    counted = {state: Count("pk", filter=Q(state=state)) for state in Node.State.values}
    documents = IndexedDocument.objects.filter(build__in=builds).values("build")
    standalone = Node.objects.filter(build__in=builds, artifact=None).values("build")
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    rows: list[Any] = [*documents.annotate(**kept), *standalone.annotate(**counted)]
    for row in rows:
        counts[row["build"]].update({state: row[state] for state in Node.State.values})
    return counts


def count_readings(builds: Sequence[IndexBuild]) -> dict[int, Counter[str]]:
    """The documents that each build still has to read anew (``unread``), and those that it could
    not (``failed``)."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    rereading = [build for build in builds if build.reading]
    documents = IndexedDocument.objects.filter(build__in=rereading).values("build")
    for row in documents.annotate(
        unread=Count("pk", filter=Q(is_unread=True)),
        failed=Count("pk", filter=~Q(reading_problem="")),
    ):
        counts[row["build"]].update(unread=row["unread"], failed=row["failed"])
    return counts


def _make_progress(
    build: IndexBuild,
    documents: Mapping[str, Any],
    standalone: Mapping[str, Any],
    artifacts: Mapping[tuple[str, str], Any],
) -> strata_types.Index:
    spec = None if build.reading_problem else build.spec
    counts = {state: artifacts.get((build.index_id, state), {}) for state in Artifact.State}
    by_state = {state: each.get("count", 0) for state, each in counts.items()}
    unread = by_state[Artifact.State.RECEIVED] + by_state[Artifact.State.PARSING]
    settings = build.index.search_settings
    oldest = min(filter(None, [documents.get("oldest"), standalone.get("oldest")]), default=None)
    nodes = {state: documents.get(state, 0) + standalone.get(state, 0) for state in Node.State}
    return {
        "name": build.index_id,
        "title": (spec.title if spec else "") or build.index_id,
        "description": spec.description if spec else "",
        "build": build.number,
        "search_settings": settings.number if settings else None,
        "kinds": list(spec.kinds) if spec else [],
        "metadata": [_describe_field(*each) for each in spec.metadata.items()] if spec else [],
        "nodes": {
            "pending": nodes[Node.State.PENDING],
            "synced": nodes[Node.State.SYNCED],
            "failed": nodes[Node.State.FAILED],
            "deleting": nodes[Node.State.DELETING],
        },
        "artifacts": sum(by_state.values()),
        "artifacts_waiting": unread + documents.get("waiting", 0),
        "artifacts_failed": by_state[Artifact.State.FAILED],
        "artifacts_partial": sum(each.get("partial", 0) for each in counts.values()),
        "oldest_pending_seconds": (
            None if oldest is None else round((timezone.now() - oldest).total_seconds(), 1)
        ),
        "problem": build.first_problem or _describe_invalid_spec(build.index_id),
    }


def _describe_invalid_spec(index: str) -> str | None:
    problem = get_invalid_specs().get(index)
    return f"It keeps its last valid spec: {problem}" if problem else None
