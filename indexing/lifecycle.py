"""The life of a build: begun beside the live one, promoted in its place, kept, removed.

The database row says which build is live; the store's alias is its published copy, for others.
"""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core.exceptions import UnknownIndex
from documents.models import Artifact
from indexing.cleanup import LATE_WRITE_SECONDS, clean_up
from indexing.exceptions import BuildNotThere, BuildUnfinished, UnknownBuild
from indexing.kinds.registry import is_unfinished
from indexing.models import Index, IndexBuild, Node
from indexing.services import ensure_collection
from indexing.spec.loaded import read_spec
from indexing.stores import get_store
from webhooks.services import emit_event

logger = logging.getLogger(__name__)


# --- Beginning -------------------------------------------------------------------------------


def begin_build(
    name: str,
    *,
    promotion: IndexBuild.Promotion = IndexBuild.Promotion.MANUAL,
    max_calls: int | None = None,
    max_minutes: int | None = None,
) -> IndexBuild:
    """The build that has the recipe of the index's spec file as it is now, begun if none has.

    A spec that changed nothing of what is stored is taken over by the live build, which is
    returned. One that is being built already goes on, with these limits; one that was live
    before is promoted again. A build begun by another recipe that is not live yet is given up.

    Raises:
        UnknownIndex, InvalidSpec: there is no such spec, or it is not valid.
    """
    spec = read_spec(name)
    recipe = spec.model_dump(mode="json")
    limits: dict[str, Any] = {
        "promotion": promotion,
        "max_calls": max_calls,
        "deadline_at": None
        if max_minutes is None
        else timezone.now() + timedelta(minutes=max_minutes),
        "comparison": None,
        "paused_at": None,
        "pause_reason": "",
    }
    with transaction.atomic():
        index, _ = Index.objects.select_for_update().get_or_create(name=name)
        if index.removal_began_at is not None:
            raise BuildNotThere(f"{name} is being removed.", fix="Try again once it is gone.")
        for build in index.builds.receiving().order_by("-number"):
            if build.spec.fingerprint == spec.fingerprint:
                build.recipe, build.fingerprint = recipe, spec.fingerprint
                if build.state != IndexBuild.State.LIVE:
                    for field, value in limits.items():
                        setattr(build, field, value)
                build.save(update_fields=["recipe", "fingerprint", *limits])
                return build
        index.builds.filter(state=IndexBuild.State.BUILDING).update(**_retired())
        return IndexBuild.objects.create(
            index=index,
            number=index.next_number(),
            recipe=recipe,
            fingerprint=spec.fingerprint,
            **limits,
        )


def get_index(name: str) -> Index:
    """
    Raises:
        UnknownIndex: with the names there are.
    """
    index = Index.objects.filter(pk=name).first()
    if index is None:
        names = Index.objects.values_list("name", flat=True)
        raise UnknownIndex(f"There is no index named {name!r}.", field="index", allowed=names)
    return index


def get_build(name: str, number: int) -> IndexBuild:
    """
    Raises:
        UnknownIndex: there is no such index.
        UnknownBuild: it has no such build, or has given it up.
    """
    get_index(name)
    builds = IndexBuild.objects.filter(index=name)
    build = builds.receiving().filter(number=number).first()
    if build is None:
        numbers = builds.receiving().values_list("number", flat=True)
        raise UnknownBuild(
            f"{name} has no build {number}.",
            field="number",
            allowed=[str(each) for each in numbers],
        )
    return build


def ask_promotion(build: IndexBuild, *, is_forced: bool = False) -> None:
    """Have a build promoted as soon as it is whole, if nothing is significantly lost by it; where
    ``is_forced``, as soon as may be and whatever is lost.

    Raises:
        BuildNotThere: it is live, or was given up.
    """
    asked = IndexBuild.Promotion.FORCED if is_forced else IndexBuild.Promotion.WHEN_WHOLE
    if not _not_live(build).update(promotion=asked, comparison=None):
        _require_not_live(build)


def pause_build(build: IndexBuild, reason: str = "") -> None:
    """Have nothing done for a build until ``resume_build``; what it holds, it keeps.

    Raises:
        BuildNotThere: it is live, and searches rest on it.
    """
    paused = {"paused_at": timezone.now(), "pause_reason": reason}
    if not _not_live(build).filter(paused_at=None).update(**paused):
        _require_not_live(build)


def resume_build(build: IndexBuild) -> None:
    """Go on with a paused build, without the limits that stopped it.

    Raises:
        BuildNotThere: it is live.
    """
    _require_not_live(build)
    _not_live(build).update(paused_at=None, pause_reason="", max_calls=None, deadline_at=None)


def cancel_build(build: IndexBuild) -> None:
    """Give up a build that is not live; its points and rows go with the next reconciliations.

    Raises:
        BuildNotThere: it is live.
    """
    if not _not_live(build).update(**_retired()):
        _require_not_live(build)


def pause_overdue() -> None:
    """Pause the builds whose time is up."""
    overdue = IndexBuild.objects.filter(
        state=IndexBuild.State.BUILDING, paused_at=None, deadline_at__lt=timezone.now()
    )
    overdue.update(
        paused_at=timezone.now(),
        pause_reason="The minutes it was given are over; resume it, or apply it again with more.",
    )


# --- Promoting -------------------------------------------------------------------------------


def missing_artifacts(build: IndexBuild) -> models.QuerySet[Artifact]:
    """What the live build shows, be it as it was before an edit, and this one lacks nodes of.

    What is new and still on its way into both does not count: while documents come in without a
    pause, no build would ever be whole.
    """
    live = build.index.live_build
    behind = Artifact.objects.filter(_unsynced_in(build), index=build.index_id)
    is_parsed = Q(state=Artifact.State.PARSED)
    if live is None or live.pk == build.pk:
        return behind.filter(is_parsed)
    # While an edit is being read or planned, the old text answers: its rows were synced once.
    once_synced = Node.objects.filter(build=live, artifact=OuterRef("pk"), synced_at__isnull=False)
    is_shown = Exists(once_synced) & ~Q(state=Artifact.State.FAILED)
    return behind.filter(is_shown | (is_parsed & ~_unsynced_in(live)))


def failed_artifacts(build: IndexBuild) -> models.QuerySet[Artifact]:
    """Artifacts with nodes that failed in this build and not in the live one."""
    failed = Node.objects.filter(artifact=OuterRef("pk"), state=Node.State.FAILED)
    live = build.index.live_build
    artifacts = Artifact.objects.filter(Exists(failed.filter(build=build)), index=build.index_id)
    if live is not None and live.pk != build.pk:
        artifacts = artifacts.exclude(Exists(failed.filter(build=live)))
    return artifacts


def promote_build(build: IndexBuild, *, is_forced: bool = False) -> IndexBuild | None:
    """Have this build answer searches from the next one on; the build it took the place of.

    That one is kept up to date, to roll back to; the one kept before it is given up.

    Raises:
        BuildNotThere: it was given up.
        BuildUnfinished: it lacks what the live build shows; not where ``is_forced``.
    """
    with transaction.atomic():
        index = Index.objects.select_for_update().get(pk=build.index_id)
        current = index.builds.receiving().filter(pk=build.pk).first()
        if current is None:
            raise BuildNotThere(f"{build} was given up and cannot be promoted.")
        previous = index.live_build
        if previous is not None and previous.pk == build.pk:
            return None
        if not is_forced:
            _require_whole(current)
        index.builds.filter(state=IndexBuild.State.STANDBY).exclude(pk=build.pk).update(
            **_retired()
        )
        if previous is not None:
            IndexBuild.objects.filter(pk=previous.pk).update(state=IndexBuild.State.STANDBY)
        IndexBuild.objects.filter(pk=build.pk).update(
            state=IndexBuild.State.LIVE,
            promotion=IndexBuild.Promotion.MANUAL,
            promoted_at=timezone.now(),
            max_calls=None,
            deadline_at=None,
            paused_at=None,
            pause_reason="",
        )
        index.live_build = current
        index.save(update_fields=["live_build"])
        emit_event(
            "build.promoted",
            {
                "index": index.name,
                "build": current.number,
                "previous_build": previous.number if previous else None,
            },
        )
    build.refresh_from_db()
    return previous


def roll_back(name: str) -> IndexBuild:
    """Have the build answer that was live before; which one that is.

    Raises:
        BuildNotThere: none is kept.
    """
    kept = IndexBuild.objects.receiving().filter(index=name, state=IndexBuild.State.STANDBY).first()
    if kept is None:
        raise BuildNotThere(
            f"No build of {name} is kept to roll back to.",
            fix="Restore the spec's earlier text and apply it.",
        )
    promote_build(kept, is_forced=True)
    return kept


def publish_aliases() -> None:
    """Have the store's aliases name the collections of the live builds.

    A collection without a point yet is not there, and gets its alias with the first.

    Raises:
        StoreUnavailable: the next reconciliation tries again.
    """
    store = get_store()
    published = store.aliases()
    for index in Index.objects.select_related("live_build"):
        build = index.live_build
        if build is None:
            continue
        switched: dict[str, str | None] = {}
        for kind in build.spec.kinds:
            alias, collection = build.spec.collection_alias(kind), build.collection(kind)
            if published.get(alias) == collection:
                continue
            if alias in published:  # it must not go on naming what is live no more
                ensure_collection(build, kind)
            if store.has_collection(collection):
                switched[alias] = collection
        if switched:
            store.switch_aliases(switched)


# --- Removing --------------------------------------------------------------------------------


def prune_builds(name: str | None = None) -> list[IndexBuild]:
    """Give up the builds that are only kept to roll back to; which ones."""
    kept = IndexBuild.objects.receiving().filter(state=IndexBuild.State.STANDBY)
    if name is not None:
        kept = kept.filter(index=name)
    ids = list(kept.values_list("pk", flat=True))
    IndexBuild.objects.filter(pk__in=ids, state=IndexBuild.State.STANDBY).update(**_retired())
    return list(IndexBuild.objects.filter(pk__in=ids, state=IndexBuild.State.RETIRED))


def remove_retired(*, grace_seconds: float | None = None) -> int:
    """Remove the collections and rows of builds given up long enough ago that no search that
    began before still reads them; how many builds are gone.

    Raises:
        StoreUnavailable: the next reconciliation tries again.
    """
    grace = settings.STRATA_RETIRED_BUILD_GRACE_SECONDS if grace_seconds is None else grace_seconds
    now = timezone.now()
    # Looked at again for a while: a worker that froze and woke may have written once more.
    is_due = Q(removed_at=None) | Q(removed_at__gt=now - timedelta(seconds=LATE_WRITE_SECONDS))
    retired = IndexBuild.objects.filter(
        is_due,
        Q(retired_at=None) | Q(retired_at__lte=now - timedelta(seconds=grace)),
        state=IndexBuild.State.RETIRED,
    )
    for build in retired:
        clean_up(build)
    return sum(build.removed_at is None for build in retired)


def _unsynced_in(build: IndexBuild) -> Q:
    """Of artifacts: this build does not hold all their nodes yet."""
    pending = Node.objects.filter(build=build, artifact=OuterRef("pk"), state=Node.State.PENDING)
    return Q(Exists(pending)) | Q(is_unfinished([build]))


def _require_whole(build: IndexBuild) -> None:
    missing = missing_artifacts(build).count()
    if missing:
        raise BuildUnfinished(
            f"{build} still lacks {missing} documents that {build.index_id} shows now.",
            fix="Wait until it is whole, or force it.",
        )


def _not_live(build: IndexBuild) -> models.QuerySet[IndexBuild]:
    beside = [IndexBuild.State.BUILDING, IndexBuild.State.STANDBY]
    return IndexBuild.objects.filter(pk=build.pk, state__in=beside)


def _require_not_live(build: IndexBuild) -> None:
    if not _not_live(build).exists():
        raise BuildNotThere(
            f"{build} is live or given up; this is for builds beside the live one.",
            field="number",
        )


def _retired() -> Mapping[str, Any]:
    return {
        "state": IndexBuild.State.RETIRED,
        "retired_at": timezone.now(),
        "promotion": IndexBuild.Promotion.MANUAL,
    }
