"""The gate before a promotion: a build that is asked to become the live one does so once it is
whole, unless it would lose what the live one has."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core.exceptions import InvalidInput
from documents.models import Artifact
from evaluation.comparison import compare_builds
from indexing.exceptions import BuildUnfinished
from indexing.lifecycle import failed_artifacts, missing_artifacts, promote_build
from indexing.models import Index, IndexBuild
from summaries.models import Annotation, Summary, Writing

Promotion = IndexBuild.Promotion
PROMOTED = "promoted"
NOT_MEASURED: Mapping[str, Any] = {
    "source": None,
    "is_optimistic": False,
    "query_count": 0,
    "measures": {},
    "is_loss": False,
}

# What was measured holds for as long: a build whole only now and then, while documents come in
# without a pause, is not measured anew each time.
KEPT_MINUTES = 10


def asked_builds() -> list[IndexBuild]:
    """The builds someone wants promoted, oldest first."""
    return list(_asked().order_by("pk"))


def promote_asked(build: IndexBuild, *, before_each: Callable[[], None] = lambda: None) -> bool:
    """Promote a build that someone wants promoted, or refuse it; whether it was promoted.

    While it is not whole nothing happens. It is refused where documents failed in it that did
    not in the live one, or where it finds significantly less: what it is asked to be goes back
    to manual, and ``comparison`` says why. Where it is forced, it is promoted as it is.

    ``before_each`` is as for ``compare_builds``. Whoever decides first has decided: a second
    worker changes nothing, and neither does one that measured against a build no longer live.

    Raises:
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    asked = _asked().filter(pk=build.pk).first()
    if asked is None:
        return False
    if asked.promotion == Promotion.FORCED:
        kept = asked.comparison or _say_unmeasured()
        return _promote(asked, kept, f"{PROMOTED}: it was forced.")
    if missing_artifacts(asked).exists():
        return False
    live = asked.index.live_build
    if failed := _failed_artifacts(asked):
        reason = f"{failed} documents failed in it that did not in the live build."
        return _refuse(asked, _say_unmeasured(), reason)
    try:
        measured = _measured_before(asked) or _measure(live, asked, before_each)
    except InvalidInput as error:
        return _refuse(asked, _say_unmeasured(), f"{error} {error.fix or ''}".strip())
    if measured["is_loss"]:
        return _refuse(asked, measured, _say_loss(measured))
    if measured["measures"]:
        return _promote(asked, measured, f"{PROMOTED}: nothing is significantly lost by it.")
    return _promote(asked, measured, f"{PROMOTED}: there was nothing to measure it by.")


def _asked() -> Any:
    beside = [IndexBuild.State.BUILDING, IndexBuild.State.STANDBY]
    return IndexBuild.objects.filter(
        Q(promotion=Promotion.FORCED) | Q(promotion=Promotion.WHEN_WHOLE, paused_at=None),
        state__in=beside,
    ).select_related("index__live_build")


def _failed_artifacts(build: IndexBuild) -> int:
    """How many have nodes, summaries or questions that failed in this build alone."""
    artifacts = Artifact.objects.filter(index=build.index_id)
    failed = Q(pk__in=failed_artifacts(build).values("pk"))
    for model in (Summary, Annotation):
        rows = model._default_manager.filter(artifact=OuterRef("pk"), state=Writing.State.FAILED)
        live = rows.filter(build=build.index.live_build_id)
        failed |= Q(Exists(rows.filter(build=build))) & ~Q(Exists(live))
    return artifacts.filter(failed).count()


# --- Measuring -------------------------------------------------------------------------------


def _measure(
    live: IndexBuild | None, build: IndexBuild, before_each: Callable[[], None]
) -> dict[str, Any]:
    comparison = None if live is None else compare_builds(live, build, before_each=before_each)
    return _say_unmeasured() if comparison is None else comparison.as_json()


def _measured_before(build: IndexBuild) -> dict[str, Any] | None:
    """What was measured of it a while ago, when it was not whole any more once that was done."""
    kept = build.comparison
    if kept is None or kept.get("verdict") or not kept["measures"]:
        return None
    live = build.index.live_build
    if live is None or kept["live_build"] != live.number:
        return None
    age = timezone.now() - datetime.fromisoformat(kept["measured_at"])
    return kept if age < timedelta(minutes=KEPT_MINUTES) else None


def _say_unmeasured() -> dict[str, Any]:
    return {**NOT_MEASURED, "measured_at": timezone.now().isoformat()}


def _say_loss(measured: Mapping[str, Any]) -> str:
    lost = [
        f"{name} falls by {-each['difference']:.3f}"
        for name, each in measured["measures"].items()
        if each["is_loss"]
    ]
    return f"{' and '.join(lost)}, more than chance explains."


# --- Deciding --------------------------------------------------------------------------------


def _promote(build: IndexBuild, kept: Mapping[str, Any], verdict: str) -> bool:
    try:
        with transaction.atomic():
            if not _is_undecided(build):
                return False
            promote_build(build, is_forced=build.promotion == Promotion.FORCED)
            IndexBuild.objects.filter(pk=build.pk).update(comparison={**kept, "verdict": verdict})
    except BuildUnfinished:
        # A document came in meanwhile. What was measured is kept for when it is whole again.
        _asked().filter(pk=build.pk).update(comparison=kept)
        return False
    return True


def _refuse(build: IndexBuild, kept: Mapping[str, Any], reason: str) -> bool:
    with transaction.atomic():
        if _is_undecided(build):
            IndexBuild.objects.filter(pk=build.pk).update(
                promotion=Promotion.MANUAL, comparison={**kept, "verdict": f"refused: {reason}"}
            )
    return False


def _is_undecided(build: IndexBuild) -> bool:
    """Whether it is still asked for what it was, against the same live build; stays so until the
    transaction ends."""
    index = Index.objects.select_for_update().get(pk=build.index_id)
    return (
        index.live_build_id == build.index.live_build_id
        and _asked().filter(pk=build.pk, promotion=build.promotion).exists()
    )
