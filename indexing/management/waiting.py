"""Wait in a command for documents, a build or a regeneration, whichever process works."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import Q

from core.progress_bars import progress_bar
from documents.index_catalog import get_catalog
from documents.models import Artifact
from indexing.comparison_text import describe_comparison
from indexing.drafting import get_drafters
from indexing.exceptions import ModelLoading
from indexing.hooks import describe_awaited_texts, list_awaited_work
from indexing.lifecycle import count_missing
from indexing.models import NOT_SYNCED, IndexBuild, IndexedDocument, Node
from indexing.progress import get_index_progress
from indexing.services import count_standalone_rows, count_unfinished_standalone_rows
from indexing.services.batches import ROWS_PER_STATEMENT, slices

WAIT_POLL_SECONDS = 0.2

# If there is no progress for this long, a known problem ends the waiting.
STALL_SECONDS = 5.0
BUILD_STALL_SECONDS = 10.0
# A language model may write a text for minutes; so often a line says what is still to be written.
REPORT_SECONDS = 15.0


def _is_lasting(problem: str | None) -> bool:
    """Whether the problem ends the waiting. A model that is being loaded does not; if loading
    fails, another problem replaces this one."""
    return bool(problem) and ModelLoading.STATE not in str(problem)


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
                    if _is_lasting(progress["problem"]):
                        raise CommandError(f"The index {index} waits: {progress['problem']}")


def wait_for_regeneration(
    indexes: Collection[str], started_at: datetime, has_worker: Callable[[], bool]
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
            partial(_raise_if_blocked, builds, has_worker),
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


def _raise_if_blocked(builds: Sequence[IndexBuild], has_worker: Callable[[], bool]) -> None:
    if not has_worker():
        raise CommandError("The server has stopped. The next server that starts continues.")
    for build in IndexBuild.objects.filter(pk__in=[each.pk for each in builds]):
        if _is_lasting(build.first_problem):
            raise CommandError(f"The build {build} waits: {build.first_problem}")


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


BUILD_POLL_SECONDS = 0.5


def wait_for_build(build: IndexBuild, write: Callable[[str], object]) -> IndexBuild:
    """Wait until a build is complete and, if requested, promoted. Raises ``CommandError``: the
    build was paused or retired, or there is no progress for a known reason."""
    total = Artifact.objects.filter(index=build.index_id, state=Artifact.State.PARSED).count()
    total += count_standalone_rows(build)
    progressed_at, done = time.monotonic(), 0
    with progress_bar(f"Building {build}", total) as advance:
        while True:
            build = IndexBuild.objects.get(pk=build.pk)
            if _is_finished(build):
                break
            started = time.monotonic()
            now_done = max(total - count_missing(build), done)
            if now_done > done:
                advance(now_done - done)
                done, progressed_at = now_done, time.monotonic()
            problem = build.first_problem
            if _is_lasting(problem) and time.monotonic() - progressed_at > BUILD_STALL_SECONDS:
                raise CommandError(f"The build {build} waits: {problem}")
            if done >= total and build.promotion == IndexBuild.Promotion.MANUAL:
                break
            time.sleep(max(BUILD_POLL_SECONDS, 4 * (time.monotonic() - started)))
    build.refresh_from_db()  # with what the last batch added
    for line in describe_comparison(build.comparison):
        write(line)
    if build.state == IndexBuild.State.RETIRED:
        raise CommandError(f"The build {build} is retired.")
    if build.paused_at is not None:
        raise CommandError(f"The build {build} is paused. {build.pause_reason}".strip())
    return build


def _is_finished(build: IndexBuild) -> bool:
    if build.state in {IndexBuild.State.LIVE, IndexBuild.State.RETIRED}:
        return True
    # Promotion was requested, and the comparison has refused it.
    is_refused = build.comparison is not None and build.promotion == IndexBuild.Promotion.MANUAL
    return is_refused or build.paused_at is not None
