"""Wait in a command for documents, concepts, a build or a regeneration, whichever process works."""

import sys
import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import Q
from rich.console import Console

from core.progress_bars import make_bars, progress_bar
from documents.index_catalog import get_catalog
from documents.models import Artifact
from indexing.awaited_work import count_awaited_work
from indexing.comparison_text import describe_comparison
from indexing.exceptions import ModelLoading
from indexing.lifecycle import count_missing
from indexing.models import IndexBuild, Node, Regeneration
from indexing.progress import get_index_progress
from indexing.regeneration import RegenerationProgress, get_regeneration, get_regeneration_progress
from indexing.services import count_standalone_rows, count_unfinished_standalone_rows

WAIT_POLL_SECONDS = 0.2
LOG_LINE_SECONDS = 10.0  # between two lines without a terminal

IDS_PER_QUERY = 500

# If there is no progress for this long, a known problem ends the waiting.
STALL_SECONDS = 5.0
BUILD_STALL_SECONDS = 10.0


def _is_lasting(problem: str) -> bool:
    """Whether the problem ends the waiting. A model that is being loaded does not; if loading
    fails, another problem replaces this one."""
    return bool(problem) and ModelLoading.STATE not in problem


def wait_for_artifacts(index: str, artifact_ids: set[UUID]) -> None:
    """Wait until every one of these artifacts is ready, failed or deleted, and until other apps
    have finished their work on them, such as finding concepts.

    Raises:
        CommandError: there is no progress, for a known reason.
    """
    remaining = sorted(artifact_ids)
    progressed_at = time.monotonic()
    with progress_bar("Indexing", len(remaining)) as advance:
        while remaining:
            head = remaining[:IDS_PER_QUERY]
            artifacts = get_catalog().with_status(Artifact.objects.filter(pk__in=head), index)
            # Q objects, because stubs do not know annotations. An artifact that failed to parse may
            # still be due.
            is_finished = Q(status__in=["ready", "failed"]) & ~Q(document_state="due")
            unfinished = artifacts.exclude(is_finished)
            open_ids = set(unfinished.values_list("pk", flat=True))
            advance(len(head) - len(open_ids))
            if len(open_ids) < len(head):
                progressed_at = time.monotonic()
            else:
                _raise_if_stalled(index, progressed_at)
            remaining = [pk for pk in head if pk in open_ids] + remaining[IDS_PER_QUERY:]
            if open_ids:
                time.sleep(WAIT_POLL_SECONDS)
    _wait_until_none_left(
        index, "Finding concepts", partial(count_awaited_work, index, artifact_ids)
    )


def wait_for_standalone_rows(index: str) -> int:
    """Wait until every concept and relationship type of an index can be searched or has failed;
    return how many have failed.

    Raises:
        CommandError: there is no progress, for a known reason.
    """
    build = IndexBuild.objects.live().get(index=index)
    _wait_until_none_left(index, "Indexing", partial(count_unfinished_standalone_rows, build))
    return Node.objects.filter(build=build, artifact=None, state=Node.State.FAILED).count()


def _wait_until_none_left(index: str, label: str, count: Callable[[], int]) -> None:
    progressed_at, left = time.monotonic(), count()
    if not left:
        return
    with progress_bar(label, left) as advance:
        while left:
            time.sleep(WAIT_POLL_SECONDS)
            now_left = count()
            if now_left < left:
                advance(left - now_left)
            if now_left != left:
                left, progressed_at = now_left, time.monotonic()
            else:
                _raise_if_stalled(index, progressed_at)


def _raise_if_stalled(index: str, progressed_at: float) -> None:
    if time.monotonic() - progressed_at <= STALL_SECONDS:
        return
    for progress in get_index_progress(index):
        if _is_lasting(progress.problem):
            raise CommandError(f"The index {index} waits: {progress.problem}")


def wait_for_regeneration(
    regeneration: Regeneration, has_worker: Callable[[], bool]
) -> RegenerationProgress:
    """Wait until a regeneration and all the work it caused are complete; return its last progress.

    Raises:
        CommandError: there is no progress, for a known reason.
    """
    console = Console(file=sys.stderr)
    started_at = progressed_at = printed_at = time.monotonic()
    last_counts: tuple[int, int, int] | None = None
    with make_bars(console) as bars:
        documents = bars.add_task("Processing documents", total=regeneration.total_count)
        nodes = bars.add_task("Syncing nodes", total=None)
        while True:
            progress = get_regeneration_progress(get_regeneration(regeneration.pk))
            row, now = progress.regeneration, time.monotonic()
            if progress.is_synced:
                return progress
            synced = max(0, row.due_node_count - progress.pending_count)
            bars.update(documents, completed=row.done_count, total=row.total_count)
            bars.update(nodes, completed=synced, total=row.due_node_count)
            counts = row.done_count, progress.pending_count, progress.awaited_count
            if counts != last_counts:
                last_counts, progressed_at = counts, now
            elif now - progressed_at > STALL_SECONDS:
                if _is_lasting(progress.problem):
                    raise CommandError(f"The regeneration waits: {progress.problem}")
                if not has_worker():
                    raise CommandError(
                        "The server has stopped. The next server that starts continues the "
                        "regeneration."
                    )
            if not console.is_terminal and now - printed_at >= LOG_LINE_SECONDS:
                printed_at = now
                line = _format_regeneration_progress(progress, synced / (now - started_at))
                print(line, file=sys.stderr, flush=True)  # noqa: T201
            time.sleep(WAIT_POLL_SECONDS)


def _format_regeneration_progress(progress: RegenerationProgress, nodes_per_second: float) -> str:
    row = progress.regeneration
    parts = [f"Regenerating: {row.done_count} of {row.total_count} examined"]
    if progress.eta_seconds is not None:
        parts.append(f"{progress.artifacts_per_second} a second")
        parts.append(f"about {progress.eta_seconds:.0f} s left")
    nodes = f"{progress.pending_count} nodes to go"
    if progress.pending_count and nodes_per_second > 0:
        nodes += f", about {progress.pending_count / nodes_per_second:.0f} s left"
    texts = f"; {progress.awaited_count} texts to be written" if progress.awaited_count else ""
    return f"{', '.join(parts)}; {nodes}{texts}"


BUILD_POLL_SECONDS = 0.5


def wait_for_build(build: IndexBuild, write: Callable[[str], object]) -> IndexBuild:
    """Wait until a build is complete and, if requested, promoted.

    Raises:
        CommandError: the build was paused or retired, or there is no progress for a known reason.
    """
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
