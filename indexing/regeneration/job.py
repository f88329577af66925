"""Going through the artifacts of a regeneration.

Its row moves on in the transaction that makes an artifact's nodes due: whoever takes it up after
a kill does none twice, and none is left out.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from core.exceptions import StrataError
from indexing.models import NOT_SYNCED, Node, Regeneration, lease_end
from indexing.regeneration.scope import ROWS_AT_ONCE, Scope, next_artifacts
from indexing.services import embed_again, plan_nodes, retry_failed

logger = logging.getLogger(__name__)

LEASE_SECONDS = 300  # the longest document, cut for every build

_LET_GO: dict[str, Any] = {"lease_token": None, "leased_until": None}


class _Overtaken(Exception):
    """It was cancelled, or another worker took it up."""


@dataclass(slots=True)
class Due:
    """What there is to wake for: builds with nodes to sync, and how many texts to write."""

    builds: set[int] = field(default_factory=set)
    text_count: int = 0


def claim_regeneration(regeneration_id: UUID) -> Regeneration | None:
    """Take a lease on it, the attempt at its next artifact counted; None if it is over or
    another worker is at it."""
    token = uuid.uuid4()
    Regeneration.objects.claimable().filter(pk=regeneration_id).update(
        attempts=F("attempts") + 1, lease_token=token, leased_until=lease_end(LEASE_SECONDS)
    )
    return Regeneration.objects.filter(pk=regeneration_id, lease_token=token).first()


def release_regeneration(regeneration: Regeneration) -> None:
    """Let go of it, the attempt given back."""
    held = _held(regeneration)
    held.filter(attempts__gt=0).update(attempts=F("attempts") - 1)
    held.update(**_LET_GO)


def release_leases() -> None:
    """Let go of every one. Only for the one process that owns all work."""
    Regeneration.objects.filter(lease_token__isnull=False).update(**_LET_GO)


def regenerate_slice(
    regeneration: Regeneration, due: Due, *, should_stop: Callable[[], bool] = lambda: False
) -> bool:
    """Make due what it is for of the next few artifacts; whether there are more. It must have
    been claimed, and is let go of where there are no more. ``due`` tells of what was made due,
    even where this raises.

    Raises:
        EmbeddingUnavailable, ModelUnavailable, StoreUnavailable, …: it was let go of as far as
            it came, and says why; claiming it again later is safe.
    """
    try:
        return _regenerate_slice(regeneration, due, should_stop)
    except _Overtaken:
        return False
    except StrataError as error:
        _held(regeneration).update(last_error=f"{error} {error.fix or ''}".strip())
        if error.is_retryable or error.is_about_setup:
            release_regeneration(regeneration)
        else:
            _held(regeneration).update(**_LET_GO)
        raise
    except Exception as error:
        _held(regeneration).update(last_error=f"{type(error).__name__}: {error}", **_LET_GO)
        raise


def _regenerate_slice(claimed: Regeneration, due: Due, should_stop: Callable[[], bool]) -> bool:
    regeneration = _held(claimed).first()
    if regeneration is None:
        raise _Overtaken
    artifact_ids = next_artifacts(regeneration)
    if not artifact_ids:
        _finish(regeneration)
        return False
    regeneration.first = regeneration.first or artifact_ids[0]
    if regeneration.attempts > settings.STRATA_MAX_ATTEMPTS:
        # Whoever went on from here has died, or met with a defect: leave out what comes next.
        logger.warning("%s gives up artifact %s", regeneration, artifact_ids[0])
        error = regeneration.last_error or "Its worker died at each attempt."
        _advance(regeneration, artifact_ids[0], 1, failed_count=1, last_error=error)
        return True
    scope = Scope.of(regeneration, artifact_ids)
    passed: list[UUID] = []
    for artifact_id in artifact_ids:
        if artifact_id not in scope.wanted:
            passed.append(artifact_id)
            continue
        if passed:
            _advance(regeneration, passed[-1], len(passed))
            passed = []
        _regenerate_artifact(regeneration, artifact_id, scope, due)
        if should_stop():
            break
    if passed:
        _advance(regeneration, passed[-1], len(passed))
    return True


def _regenerate_artifact(
    regeneration: Regeneration, artifact_id: UUID, scope: Scope, due: Due
) -> None:
    """Make due what is asked for of one artifact, and move the cursor to it, at once."""
    is_partial = regeneration.is_for_missing or regeneration.is_for_stale
    pairs = scope.builds.get(scope.index_of[artifact_id], [])
    for build, kinds in pairs:  # no lock is held while they are cut
        plan_nodes(artifact_id, build, [kind.name for kind in kinds])
    text_count = node_count = 0
    builds = set()
    with transaction.atomic():
        for build, kinds in pairs:
            nodes = Node.objects.filter(
                build=build, artifact=artifact_id, kind__in=[kind.name for kind in kinds]
            )
            # Locked in the order in which every writer of several rows locks them.
            list(nodes.select_for_update().order_by("pk").values_list("pk", flat=True))
            if not is_partial:
                embed_again(nodes)
            if regeneration.is_for_missing:
                retry_failed(nodes)
                for part in _parts(scope.pointless.get(artifact_id, [])):
                    embed_again(nodes.filter(pk__in=part, state=Node.State.SYNCED))
            if not is_partial or regeneration.is_for_missing:
                for kind in kinds:
                    text_count += kind.write_again(artifact_id, build, only_refused=is_partial)
            if pending := nodes.filter(NOT_SYNCED, state=Node.State.PENDING).count():
                node_count += pending
                builds.add(build.pk)
        _advance(
            regeneration,
            artifact_id,
            1,
            made_count=int(bool(node_count or text_count)),
            node_count=node_count,
            text_count=text_count,
        )
    due.builds |= builds
    due.text_count += text_count


def _parts(node_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(node_ids), ROWS_AT_ONCE):
        yield node_ids[start : start + ROWS_AT_ONCE]


def _advance(
    regeneration: Regeneration, cursor: UUID, passed: int, *, last_error: str = "", **counts: int
) -> None:
    """Move the cursor on past so many artifacts; the attempt at what follows has begun."""
    moved: dict[str, Any] = {name: F(name) + count for name, count in counts.items()}
    if last_error or not regeneration.failed_count:  # that of one given up is kept to the end
        moved["last_error"] = last_error
    if not _held(regeneration).update(
        first=regeneration.first, cursor=cursor, done_count=F("done_count") + passed, attempts=1,
        leased_until=lease_end(LEASE_SECONDS), **moved,
    ):  # fmt: skip
        raise _Overtaken


def _held(regeneration: Regeneration) -> QuerySet[Regeneration]:
    running = Regeneration.objects.running()
    return running.filter(pk=regeneration.pk, lease_token=regeneration.lease_token)


def _finish(regeneration: Regeneration) -> None:
    is_whole = regeneration.failed_count == 0
    _held(regeneration).update(
        state=Regeneration.State.DONE if is_whole else Regeneration.State.FAILED,
        total_count=F("done_count"),
        finished_at=timezone.now(),
        attempts=0,
        **_LET_GO,
    )
