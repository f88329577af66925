"""Following a build from the command line, whichever process does the work."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from django.core.management.base import CommandError
from kombu.exceptions import OperationalError as BrokerError

from config import embedded
from core.progress_bars import progress_bar
from core.running_server import find_server
from documents.models import Artifact
from indexing.comparisons import describe_comparison
from indexing.models import IndexBuild
from indexing.promotion import missing_artifacts
from indexing.tasks import wake_sweeps

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 10.0  # without any progress, before a known problem ends the waiting


@contextmanager
def work_at_hand() -> Iterator[None]:
    """The work is done until the block ends: by the running server or the workers, who are told
    to look, or by this process where the embedded form is not running."""
    server = find_server()
    with ExitStack() as stack:
        if server is None and embedded.is_embedded():
            stack.enter_context(embedded.owning_store())
            stack.enter_context(embedded.working())
        yield


def nudge() -> None:
    """Have whoever does the work look now, and not within a minute."""
    server = find_server()
    if server is not None:
        server.request("POST", "/api/v1/sweep/")
        return
    try:
        wake_sweeps()
    except BrokerError:
        logger.warning("The broker is away; the work begins within a minute of its return")


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
