"""Starts, pauses, promotes, rolls back and removes builds.

The database row decides which build is live; the store's aliases show it to other readers.
"""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core.events import announce
from documents.models import Artifact
from documents.pages import show_readings
from documents.reading import find_outdated_artifacts
from indexing.exceptions import BuildUnfinished, UnknownBuild, WrongBuildState
from indexing.models import Index, IndexBuild, IndexBuildQuerySet, IndexedDocument, Node
from indexing.removal import LATE_WRITE_SECONDS, delete_build_data
from indexing.services import (
    count_unfinished_standalone_rows,
    ensure_collection,
    follow_unseen_text,
    make_unread,
    remove_unseen_readings,
    save_store_settings,
    store_search_settings,
)
from indexing.spec import dump_recipe
from indexing.spec.loaded import reread_spec
from indexing.stores import get_store

logger = logging.getLogger(__name__)

DOCUMENTS_PER_MISSING = 10  # the graph is built once at most one document in ten is missing


# --- Starting and pausing --------------------------------------------------------------------


def apply_spec(
    name: str,
    *,
    promotion: IndexBuild.Promotion = IndexBuild.Promotion.MANUAL,
    max_calls: int | None = None,
    max_minutes: int | None = None,
    rereads: bool = False,
) -> IndexBuild:
    """Return the build with the recipe of the index's current spec file; create it if none has it.

    The search settings take effect at once, whichever build is live, and the reconciliation applies
    the store settings. If recipe and placement are the live build's, that is returned. A build in
    progress continues with these limits; a former live build is promoted again. A build in progress
    with another recipe or placement is retired. A new build reads those documents anew that another
    reader has read than would read them now; with ``rereads`` one is made for them even if the
    recipe is the live build's.

    Raises:
        UnknownIndex, InvalidSpec: there is no such spec, or it is not valid.
    """
    spec = reread_spec(name)
    build_options: dict[str, Any] = {
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
        if index.removal_requested_at is not None:
            raise WrongBuildState(
                f"The index {name} is being removed.", fix="Try again once it is removed."
            )
        store_search_settings(index, spec)
        save_store_settings(index, spec)
        outdated = find_outdated_artifacts(
            name,
            index.live_reading,
            with_unseen=spec.holds_unseen_text,
            ocr_languages=spec.ocr_languages,
        )
        needs_reading = rereads and bool(outdated)
        for build in index.builds.not_retired().order_by("-number"):
            has_readings = not needs_reading or build.reading > index.live_reading
            if has_readings and build.is_made_by(spec):
                if build.state == IndexBuild.State.LIVE:
                    build.max_calls = max_calls
                else:
                    for field, value in build_options.items():
                        setattr(build, field, value)
                build.save(update_fields=list(build_options))
                return build
        index.builds.filter(state=IndexBuild.State.BUILDING).retire()
        build = IndexBuild.objects.create(
            index=index,
            number=index.next_build_number(),
            recipe=dump_recipe(spec),
            fingerprint=spec.fingerprint,
            placement=spec.placement,
            reading=index.next_reading() if outdated else index.live_reading,
            **build_options,
        )
        make_unread(build, outdated)
        return build


def get_build(name: str, number: int) -> IndexBuild:
    """Find a build of an index by its number.

    Raises:
        UnknownIndex: there is no such index.
        UnknownBuild: it has no such build, or the build is retired.
    """
    Index.objects.require(name)
    builds = IndexBuild.objects.filter(index=name)
    build = builds.not_retired().filter(number=number).first()
    if build is None:
        numbers = builds.not_retired().values_list("number", flat=True)
        raise UnknownBuild(
            f"The index {name} has no build {number}.",
            field="number",
            allowed=[str(each) for each in numbers],
        )
    return build


def request_promotion(build: IndexBuild, *, is_forced: bool = False) -> None:
    """Request that a build is promoted once it is complete and no measure is significantly worse;
    with ``is_forced``, as soon as possible and regardless of the measures.

    Raises:
        WrongBuildState: it is live or retired.
    """
    requested_promotion = (
        IndexBuild.Promotion.FORCED if is_forced else IndexBuild.Promotion.WHEN_COMPLETE
    )
    if not _filter_not_live(build).update(promotion=requested_promotion, comparison=None):
        _require_not_live(build)


def pause_build(build: IndexBuild, reason: str = "") -> None:
    """Stop work on a build until ``resume_build``; its nodes and points stay. Raises
    ``WrongBuildState``: it is live, so searches depend on it."""
    paused = {"paused_at": timezone.now(), "pause_reason": reason}
    if not _filter_not_live(build).filter(paused_at=None).update(**paused):
        _require_not_live(build)


def resume_build(build: IndexBuild) -> None:
    """Continue a paused build and clear its limits. Raises ``WrongBuildState``: it is live."""
    _require_not_live(build)
    _filter_not_live(build).update(
        paused_at=None, pause_reason="", max_calls=None, deadline_at=None
    )


def cancel_build(build: IndexBuild) -> None:
    """Retire a build that is not live; later reconciliations remove its points and rows. Raises
    ``WrongBuildState``: it is live."""
    if not _filter_not_live(build).retire():
        _require_not_live(build)


def pause_overdue_builds() -> None:
    """Pause the builds that are past their deadline."""
    overdue = IndexBuild.objects.filter(
        state=IndexBuild.State.BUILDING, paused_at=None, deadline_at__lt=timezone.now()
    )
    overdue.update(
        paused_at=timezone.now(),
        pause_reason="Its time limit in minutes is over. Resume it, or apply it again with more.",
    )


# --- Promoting -------------------------------------------------------------------------------


def count_missing(build: IndexBuild) -> int:
    """How many artifacts and standalone rows the live build shows and this one lacks."""
    return find_incomplete_artifacts(build).count() + count_unfinished_standalone_rows(build)


def count_newly_failed_standalone_nodes(build: IndexBuild) -> int:
    """How many standalone nodes failed in this build and not in the live one."""
    failed = Node.objects.filter(artifact=None, state=Node.State.FAILED)
    in_live = failed.filter(build=build.index.live_build_id, point_id=OuterRef("point_id"))
    if build.index.live_build_id == build.pk:
        return failed.filter(build=build).count()
    return failed.filter(~Exists(in_live), build=build).count()


def find_incomplete_artifacts(build: IndexBuild) -> models.QuerySet[Artifact]:
    """Artifacts that the live build shows, even in an older version, and whose nodes this build
    lacks.

    New artifacts that neither build holds yet do not count: otherwise a build could never be
    complete while documents keep arriving.
    """
    live = build.index.live_build
    finished = _finished_documents(build)
    missing = Artifact.objects.filter(~Exists(finished), index=build.index_id)
    is_parsed = Q(state=Artifact.State.PARSED)
    if live is None or live.pk == build.pk:
        return missing.filter(is_parsed)
    # While an edit is parsed or planned, searches still show the old text, synced before.
    shown = IndexedDocument.objects.filter(
        build=live, artifact=OuterRef("pk"), shown_at__isnull=False
    )
    is_shown = Exists(shown) & ~Q(state=Artifact.State.FAILED)
    return missing.filter(is_shown | (is_parsed & Exists(_finished_documents(live))))


def find_failed_artifacts(build: IndexBuild) -> models.QuerySet[Artifact]:
    """Artifacts with nodes that failed in this build and not in the live one."""
    failed = IndexedDocument.objects.filter(
        artifact=OuterRef("pk"), state=IndexedDocument.State.FAILED
    )
    live = build.index.live_build
    artifacts = Artifact.objects.filter(Exists(failed.filter(build=build)), index=build.index_id)
    if live is not None and live.pk != build.pk:
        artifacts = artifacts.exclude(Exists(failed.filter(build=live)))
    return artifacts


def promote_build(build: IndexBuild, *, is_forced: bool = False) -> IndexBuild | None:
    """Make this build the live one; return the build it replaced, or None.

    The replaced build stays synced as the standby; an earlier standby is retired.

    Raises:
        WrongBuildState: it is retired.
        BuildUnfinished: it lacks nodes that the live build shows; not if ``is_forced``.
    """
    with transaction.atomic():
        index = Index.objects.select_for_update().get(pk=build.index_id)
        current = index.builds.not_retired().filter(pk=build.pk).first()
        if current is None:
            raise WrongBuildState(f"The build {build} is retired and cannot be promoted.")
        previous = index.live_build
        if previous is not None and previous.pk == build.pk:
            return None
        if not is_forced:
            _require_complete(current)
        index.builds.filter(state=IndexBuild.State.STANDBY).exclude(pk=build.pk).retire()
        has_calls_when_live = any(
            section.lack_without_model for section in current.spec.app_sections
        )
        if previous is not None:
            IndexBuild.objects.filter(pk=previous.pk).update(state=IndexBuild.State.STANDBY)
        IndexBuild.objects.filter(pk=build.pk).update(
            state=IndexBuild.State.LIVE,
            promotion=IndexBuild.Promotion.MANUAL,
            promoted_at=timezone.now(),
            # Calls that are made once it is live count towards the same limit.
            max_calls=current.max_calls if has_calls_when_live else None,
            deadline_at=None,
            paused_at=None,
            pause_reason="",
        )
        if previous is None or previous.reading != current.reading:
            show_readings(index.name, current.reading)
        index.live_build = current
        index.save(update_fields=["live_build"])
        follow_unseen_text(current)
        announce(
            "build.promoted",
            {
                "index": index.name,
                "build": current.number,
                "previous_build": previous.number if previous else None,
            },
        )
    build.refresh_from_db()
    return previous


def roll_back_index(name: str) -> IndexBuild:
    """Promote and return the standby build. Raises ``WrongBuildState``: there is none."""
    standby = (
        IndexBuild.objects.not_retired().filter(index=name, state=IndexBuild.State.STANDBY).first()
    )
    if standby is None:
        raise WrongBuildState(
            f"The index {name} has no standby build to roll back to.",
            fix="Restore the earlier text of the spec and apply it.",
        )
    promote_build(standby, is_forced=True)
    return standby


def publish_aliases() -> None:
    """Point the store's aliases at the collections of the live builds.

    A collection is created with its first point, and gets its alias after that.

    Raises:
        StoreUnavailable: the next reconciliation tries again.
    """
    store = get_store()
    current_aliases = store.aliases()
    for build in IndexBuild.objects.live().readable():
        new_aliases: dict[str, str | None] = {}
        for kind in build.spec.kinds:
            alias, collection = build.spec.collection_alias(kind), build.collection(kind)
            if current_aliases.get(alias) == collection:
                continue
            if alias in current_aliases:  # it must not point at an old build
                ensure_collection(build, kind)
            if store.has_collection(collection):
                new_aliases[alias] = collection
        if new_aliases:
            store.switch_aliases(new_aliases)


def update_collections(build: IndexBuild, *, is_complete: bool = False) -> bool:
    """Make the collections of a build follow the store settings of its index; return whether the
    store has nothing left to do for them.

    A Qdrant server creates them without an HNSW graph, and builds the graph once few documents are
    missing, or with ``is_complete`` at once.

    Raises:
        StoreUnavailable: the next reconciliation tries again.
    """
    is_ready = True
    for name in build.collections():
        is_ready &= get_store().update_collection(
            name, build.store_settings, is_loaded=lambda: is_complete or _are_few_missing(build)
        )
    return is_ready


# --- Removing --------------------------------------------------------------------------------


def prune_builds(name: str | None = None) -> list[IndexBuild]:
    """Retire the standby builds; return those that were retired."""
    standby = IndexBuild.objects.not_retired().filter(state=IndexBuild.State.STANDBY)
    if name is not None:
        standby = standby.filter(index=name)
    ids = list(standby.values_list("pk", flat=True))
    IndexBuild.objects.filter(pk__in=ids, state=IndexBuild.State.STANDBY).retire()
    return list(IndexBuild.objects.filter(pk__in=ids, state=IndexBuild.State.RETIRED))


def remove_retired_builds(*, grace_seconds: float | None = None) -> int:
    """Delete the data of builds that were retired before any running search began; return how many
    builds were removed. Raises ``StoreUnavailable``: the next reconciliation tries again."""
    grace = settings.STRATA_RETIRED_BUILD_GRACE_SECONDS if grace_seconds is None else grace_seconds
    now = timezone.now()
    # Checked again for a while: a worker that was suspended may have written to it later.
    is_due = Q(removed_at=None) | Q(removed_at__gt=now - timedelta(seconds=LATE_WRITE_SECONDS))
    retired = IndexBuild.objects.filter(
        is_due,
        Q(retired_at=None) | Q(retired_at__lte=now - timedelta(seconds=grace)),
        state=IndexBuild.State.RETIRED,
    ).select_related("index__search_settings")
    removable = retired.readable()
    for build in removable:
        delete_build_data(build)
    for name in sorted({build.index_id for build in removable}):
        remove_unseen_readings(name)
    return sum(build.removed_at is None for build in removable)


def _finished_documents(build: IndexBuild) -> models.QuerySet[IndexedDocument]:
    """For a subquery on artifacts (``OuterRef("pk")``): documents that the build has finished or
    given up."""
    finished = [IndexedDocument.State.READY, IndexedDocument.State.FAILED]
    return IndexedDocument.objects.filter(build=build, artifact=OuterRef("pk"), state__in=finished)


def _are_few_missing(build: IndexBuild) -> bool:
    """Whether at most one in ten of the documents is missing from the build."""
    artifacts = Artifact.objects.filter(index=build.index_id)
    unread = artifacts.filter(state__in=[Artifact.State.RECEIVED, Artifact.State.PARSING])
    missing_count = unread.count() + count_missing(build)
    return missing_count * DOCUMENTS_PER_MISSING <= artifacts.count()


def _require_complete(build: IndexBuild) -> None:
    missing = count_missing(build)
    if missing:
        raise BuildUnfinished(
            f"The build {build} still lacks {missing} documents that searches find in the live "
            "build.",
            fix="Wait until the build is complete, or force its promotion.",
        )


def _filter_not_live(build: IndexBuild) -> IndexBuildQuerySet:
    not_live_states = [IndexBuild.State.BUILDING, IndexBuild.State.STANDBY]
    return IndexBuild.objects.filter(pk=build.pk, state__in=not_live_states)


def _require_not_live(build: IndexBuild) -> None:
    if not _filter_not_live(build).exists():
        raise WrongBuildState(
            f"The build {build} is live or retired; only a building or standby build can be "
            "paused, resumed or cancelled.",
            field="number",
        )
