"""Wait in a command for documents or a regeneration, whichever process works."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import Q

from core.api_client import ApiClient
from core.progress_bars import progress_bar
from documents.index_catalog import get_catalog
from documents.models import Artifact
from indexing.drafting import get_drafters
from indexing.hooks import describe_awaited_texts, list_awaited_work
from indexing.management.builds import is_lasting, make_path, name_build
from indexing.models import NOT_SYNCED, IndexBuild, IndexedDocument, Node
from indexing.progress import get_index_progress
from indexing.services import count_unfinished_standalone_rows
from indexing.services.batches import ROWS_PER_STATEMENT, slices

WAIT_POLL_SECONDS = 0.2

# If there is no progress for this long, a known problem ends the waiting.
STALL_SECONDS = 5.0
# A language model may write a text for minutes; so often a line says what is still to be written.
REPORT_SECONDS = 15.0


def wait_for_artifacts(index: str, artifact_ids: set[UUID]) -> None:
    """Wait until every one of these artifacts is ready, failed or deleted, and until other apps
    have finished their work on them.

    Raises:
        CommandError: there is no progress, for a known reason.
    """
    remaining = sorted(artifact_ids)

    def count_remaining() -> int:
        nonlocal remaining
        while remaining:
            head = remaining[:ROWS_PER_STATEMENT]
            artifacts = get_catalog().with_status(Artifact.objects.filter(pk__in=head), index)
            # Q objects, because stubs do not know annotations. An artifact that failed to parse may
            # still be due.
            is_finished = Q(status__in=["ready", "failed"]) & ~Q(document_state="due")
            unfinished = list(artifacts.exclude(is_finished).values_list("pk", flat=True))
            remaining = unfinished + remaining[ROWS_PER_STATEMENT:]
            if unfinished:
                break
        return len(remaining)

    _wait_until_none_left(index, "Indexing", count_remaining)
    for label, count_unfinished in list_awaited_work():
        _wait_until_none_left(index, label, partial(count_unfinished, index, artifact_ids))


def wait_for_standalone_rows(index: str) -> int:
    """Wait until every row of an index that has a node of its own can be searched or has failed;
    return how many have failed.

    Raises:
        CommandError: there is no progress, for a known reason.
    """
    build = IndexBuild.objects.live().get(index=index)
    _wait_until_none_left(index, "Indexing", partial(count_unfinished_standalone_rows, build))
    return Node.objects.filter(build=build, artifact=None, state=Node.State.FAILED).count()


def _wait_until_none_left(
    index: str,
    label: str,
    count: Callable[[], int],
    raise_if_blocked: Callable[[], None] = lambda: None,
) -> None:
    progressed_at = reported_at = time.monotonic()
    left = count()
    if not left:
        return
    with progress_bar(label, left) as advance:
        while left:
            time.sleep(WAIT_POLL_SECONDS)
            if time.monotonic() - reported_at >= REPORT_SECONDS:
                reported_at = time.monotonic()
                if awaited := describe_awaited_texts(index):
                    sys.stderr.write(f"{label}: {left} left. {awaited}\n")
            now_left = count()
            if now_left < left:
                advance(left - now_left)
            if now_left != left:
                left, progressed_at = now_left, time.monotonic()
            elif time.monotonic() - progressed_at > STALL_SECONDS:
                raise_if_blocked()
                for progress in get_index_progress(index):
                    if is_lasting(progress["problem"]):
                        raise CommandError(f"The index {index} waits: {progress['problem']}")


def wait_for_regeneration(
    api: ApiClient, indexes: Collection[str], started_at: datetime
) -> dict[str, int]:
    """Wait until nothing is due in the builds of these indexes that are not paused; return how much
    has failed, by what it is. Only documents that became due since ``started_at`` count.

    Raises:
        CommandError: there is no progress, for a known reason.
    """
    failed: Counter[str] = Counter()
    for index in indexes:
        builds = IndexBuild.objects.not_paused().filter(index=index).readable()
        _wait_until_none_left(
            index,
            f"Regenerating {index}",
            partial(_count_unfinished, builds),
            partial(_raise_if_blocked, api, index),
        )
        for build in builds:
            documents = IndexedDocument.objects.filter(build=build, due_at__gte=started_at)
            failed += _count_failed(build, list(documents.values_list("artifact_id", flat=True)))
    return failed


def _count_unfinished(builds: Sequence[IndexBuild]) -> int:
    documents = IndexedDocument.objects.unfinished()
    return sum(
        documents.filter(build=build).count() + count_unfinished_standalone_rows(build)
        for build in builds
    )


def _raise_if_blocked(api: ApiClient, index: str) -> None:
    for build in api.get(make_path(index))["results"]:
        if is_lasting(build["problem"]) and build["paused_at"] is None:
            raise CommandError(f"The build {name_build(build)} waits: {build['problem']}")


def _count_failed(build: IndexBuild, artifact_ids: Sequence[UUID]) -> Counter[str]:
    failed = Counter(
        {
            "standalone nodes failed": Node.objects.filter(
                NOT_SYNCED, build=build, artifact=None, state=Node.State.FAILED
            ).count()
        }
    )
    for part in slices(artifact_ids, ROWS_PER_STATEMENT):
        documents = IndexedDocument.objects.filter(build=build, artifact__in=part)
        failed["documents failed"] += documents.filter(state=IndexedDocument.State.FAILED).count()
        unwritable = [each.find_unwritable(part, build) for each in get_drafters(build).values()]
        failed["documents have texts that could not be written"] += len(set().union(*unwritable))
    return failed
