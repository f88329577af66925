"""Following a build from the command line, whichever process does the work."""

import logging
import time
from collections.abc import Callable

from django.core.management.base import CommandError

from core.progress_bars import progress_bar
from documents.models import Artifact
from indexing.comparison_text import describe_comparison
from indexing.lifecycle import missing_artifacts
from indexing.models import IndexBuild

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 10.0  # without any progress, before a known problem ends the waiting


def follow_build(build: IndexBuild, write: Callable[[str], object]) -> IndexBuild:
    """Return once a build is whole and, where that was asked, promoted.

    Raises:
        CommandError: it was refused, paused or given up, or nothing moves for a known reason.
    """
    total = Artifact.objects.filter(index=build.index_id, state=Artifact.State.PARSED).count()
    moved_at, done = time.monotonic(), 0
    with progress_bar(f"Building {build}", total) as advance:
        while True:
            build = IndexBuild.objects.get(pk=build.pk)
            if _is_over(build):
                break
            started = time.monotonic()
            now_done = max(total - missing_artifacts(build).count(), done)
            if now_done > done:
                advance(now_done - done)
                done, moved_at = now_done, time.monotonic()
            problem = build.problem or build.writing_problem
            if problem and time.monotonic() - moved_at > PATIENCE_SECONDS:
                raise CommandError(f"{build} waits: {problem}")
            if done >= total and build.promotion == IndexBuild.Promotion.MANUAL:
                break
            time.sleep(max(POLL_SECONDS, 4 * (time.monotonic() - started)))
    for line in describe_comparison(build.comparison):
        write(line)
    if build.state == IndexBuild.State.RETIRED:
        raise CommandError(f"{build} was given up.")
    if build.paused_at is not None:
        raise CommandError(f"{build} is paused. {build.pause_reason}".strip())
    return build


def _is_over(build: IndexBuild) -> bool:
    if build.state in {IndexBuild.State.LIVE, IndexBuild.State.RETIRED}:
        return True
    # Asked for and answered: what was measured speaks against it.
    is_refused = build.comparison is not None and build.promotion == IndexBuild.Promotion.MANUAL
    return is_refused or build.paused_at is not None
