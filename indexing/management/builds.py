"""What commands about builds share. Builds are the API's answers."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandError

from core.api_client import ApiClient
from core.progress_bars import progress_bar
from indexing.comparison_text import describe_comparison
from indexing.exceptions import ModelLoading

Build = dict[str, Any]

POLL_SECONDS = 0.5
# If there is no progress for this long, a known problem ends the waiting.
STALL_SECONDS = 10.0


def name_build(build: Build) -> str:
    return f"{build['index']} #{build['number']}"


def make_path(index: str, number: int | None = None) -> str:
    """The path of a build, or of all builds of an index."""
    path = f"indexes/{quote(index, safe='')}/builds/"
    return path if number is None else f"{path}{number}/"


def is_lasting(problem: str | None) -> bool:
    """Whether a problem ends the waiting. A model that is being loaded does not; if loading fails,
    another problem replaces this one."""
    return bool(problem) and ModelLoading.STATE not in str(problem)


def wait_for_build(api: ApiClient, build: Build, write: Callable[[str], object]) -> Build:
    """Wait until a build is complete and, if requested, promoted. Raises ``CommandError``: the
    build was paused, or there is no progress for a known reason."""
    path = make_path(build["index"], build["number"])
    progressed_at, left = time.monotonic(), build["artifacts_missing"]
    with progress_bar(f"Building {name_build(build)}", left) as advance:
        while not _is_finished(build):
            started = time.monotonic()
            build = api.get(path)
            if build["artifacts_missing"] < left:
                advance(left - build["artifacts_missing"])
                left, progressed_at = build["artifacts_missing"], time.monotonic()
            if is_lasting(build["problem"]) and time.monotonic() - progressed_at > STALL_SECONDS:
                raise CommandError(f"The build {name_build(build)} waits: {build['problem']}")
            time.sleep(max(POLL_SECONDS, 4 * (time.monotonic() - started)))
    build = api.get(path)  # with what the last batch added
    for line in describe_comparison(build["comparison"]):
        write(line)
    if build["paused_at"] is not None:
        reason = build["pause_reason"] or ""
        raise CommandError(f"The build {name_build(build)} is paused. {reason}".strip())
    return build


def _is_finished(build: Build) -> bool:
    if build["state"] == "live" or build["paused_at"] is not None:
        return True
    # Without a request to promote it, or once the comparison has refused that.
    return build["promotion"] == "manual" and (
        not build["artifacts_missing"] or build["comparison"] is not None
    )
