"""Creates, finds and cancels regenerations."""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from access.limits import require_room
from core.exceptions import InvalidInput, UnknownIndex
from indexing.exceptions import UnknownRegeneration
from indexing.kinds import KINDS, list_regeneration_types
from indexing.models import Index, IndexBuild, Regeneration
from indexing.regeneration.scope import find_regenerated_ids

ALL_TYPES = "all"  # in place of a type
TYPE_ALIASES = {"source": "chunk"}  # sources are embedded by their chunks
MAX_NAMED_ARTIFACTS = 10_000  # in one request


def begin_regeneration(
    types: Collection[str],
    *,
    index: str | None = None,
    artifact_ids: Iterable[UUID] | None = None,
    is_for_missing: bool = False,
    is_for_stale: bool = False,
    limit: int | None = None,
    offset: int = 0,
    asked_by: str = "",
) -> Regeneration:
    """Create a regeneration of nodes of these types (or all) in every build that is not retired; in
    all indexes if ``index`` is None. If the same one already waits to begin, return that one.

    Raises:
        UnknownIndex: there is no such index.
        InvalidInput: there is no such type, or the index has no nodes of it; or too many
            artifacts are named.
        TooManyJobs: ``asked_by`` has as many unfinished regenerations as a key may.
    """
    if index is not None and not Index.objects.filter(pk=index).exists():
        names = Index.objects.values_list("name", flat=True)
        raise UnknownIndex(f"There is no index named {index!r}.", field="index", allowed=names)
    named_ids = None if artifact_ids is None else sorted(str(each) for each in set(artifact_ids))
    if named_ids is not None and len(named_ids) > MAX_NAMED_ARTIFACTS:
        raise InvalidInput(
            f"artifacts must name at most {MAX_NAMED_ARTIFACTS:,} artifacts, not "
            f"{len(named_ids):,}.",
            field="artifacts",
            fix="Leave out artifacts to regenerate the whole index.",
        )
    regeneration = Regeneration(
        index_id=index,
        types=_clean_types(types, index),
        artifact_ids=named_ids,
        is_for_missing=is_for_missing,
        is_for_stale=is_for_stale,
        limit=limit,
        offset=offset,
        asked_by=asked_by,
    )
    if waiting := Regeneration.objects.waiting_like(regeneration).first():
        return waiting
    running = Regeneration.objects.running().filter(asked_by=asked_by)
    require_room(asked_by, running, settings.STRATA_KEY_WAITING_JOBS, "regenerations")
    count = len(named_ids) if named_ids is not None else find_regenerated_ids(regeneration).count()
    remaining_count = max(0, count - offset)
    regeneration.total_count = remaining_count if limit is None else min(limit, remaining_count)
    regeneration.save()
    return regeneration


def _clean_types(types: Collection[str], index: str | None) -> list[str]:
    known = list_regeneration_types()
    types = [TYPE_ALIASES.get(each, each) for each in types]
    for each in types:
        if each not in known and each != ALL_TYPES:
            raise InvalidInput(
                f"There is no type {each!r} that can be regenerated.",
                field="type",
                allowed=[ALL_TYPES, *known],
            )
    wanted = known if ALL_TYPES in types else sorted(set(types))
    if index is None or ALL_TYPES in types:
        return wanted
    builds = IndexBuild.objects.not_retired().filter(index=index)
    available_types = {
        KINDS[kind].regeneration_type for build in builds for kind in build.spec.kinds
    }
    for each in wanted:
        if each not in available_types:
            raise InvalidInput(
                f"The index {index} has no nodes of type {each!r}.",
                field="type",
                allowed=[ALL_TYPES, *available_types],
            )
    return wanted


def get_regeneration(regeneration_id: UUID) -> Regeneration:
    """
    Raises:
        UnknownRegeneration: there is none with this id.
    """
    regeneration = Regeneration.objects.filter(pk=regeneration_id).first()
    if regeneration is None:
        raise UnknownRegeneration(field="id")
    return regeneration


def cancel_regeneration(regeneration: Regeneration) -> None:
    """Stop a regeneration; nodes that it has set pending are still synced. A finished one is not
    changed."""
    running = Regeneration.objects.running().filter(pk=regeneration.pk)
    running.update(state=Regeneration.State.CANCELLED, finished_at=timezone.now())
    regeneration.refresh_from_db()
