"""Decide requested promotions: a complete build is promoted unless it has new failures or is
significantly worse than the live build."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from core.exceptions import InvalidInput
from documents.models import Artifact
from evaluation.build_comparison import compare_builds
from indexing.exceptions import BuildUnfinished
from indexing.lifecycle import (
    count_missing,
    count_newly_failed_standalone_nodes,
    find_failed_artifacts,
    promote_build,
    update_collections,
)
from indexing.models import Index, IndexBuild
from summaries.models import WrittenText
from summaries.services.rows import TEXT_MODELS

Promotion = IndexBuild.Promotion

# A comparison is reused for this long. While documents are being added, a build is complete only
# for moments, and a new comparison at each of them would waste work.
COMPARISON_VALID_MINUTES = 10


def find_builds_to_promote() -> "QuerySet[IndexBuild]":
    """Return the builds whose promotion was requested."""
    return IndexBuild.objects.filter(
        Q(promotion=Promotion.FORCED) | Q(promotion=Promotion.WHEN_COMPLETE, paused_at=None),
        state__in=[IndexBuild.State.BUILDING, IndexBuild.State.STANDBY],
    ).select_related("index__live_build")


def decide_promotion(
    build: IndexBuild, *, before_each_answer: Callable[[], None] = lambda: None
) -> bool:
    """Promote or refuse a build whose promotion was requested; return whether it was promoted.

    An incomplete build, or one whose graph is still being built, is left waiting. A build is
    refused if documents failed in it that did not fail in the live build, or if it is significantly
    worse by any measure: its promotion goes back to manual, and ``comparison`` says why. A forced
    promotion skips all checks.

    ``before_each_answer`` is passed to ``compare_builds``. Only the first decision counts: a second
    worker changes nothing, and neither does a comparison with a build that is no longer live.

    Raises:
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    requested = find_builds_to_promote().filter(pk=build.pk).first()
    if requested is None:
        return False
    if requested.promotion == Promotion.FORCED:
        return _promote_and_store(requested, requested.comparison, "it was forced.")
    if count_missing(requested) or not update_collections(requested, is_complete=True):
        return False
    failed = _count_newly_failed_artifacts(requested)
    failed += count_newly_failed_standalone_nodes(requested)
    if failed:
        reason = f"{failed} documents failed in it but not in the live build."
        return _refuse_and_store(requested, None, reason)
    live = requested.index.live_build
    measured = _find_recent_comparison(requested)
    try:
        if measured is None and live is not None:
            measured = compare_builds(live, requested, before_each_answer=before_each_answer)
    except InvalidInput as error:
        return _refuse_and_store(requested, None, error.with_fix())
    if measured is None:
        return _promote_and_store(requested, None, "there were no queries to measure it with.")
    if measured["is_loss"]:
        return _refuse_and_store(requested, measured, _describe_loss(measured))
    return _promote_and_store(requested, measured, "no measure is significantly worse.")


def _count_newly_failed_artifacts(build: IndexBuild) -> int:
    """Count the artifacts with nodes or texts that failed in this build but not in the live one."""
    artifacts = Artifact.objects.filter(index=build.index_id)
    failed = Q(pk__in=find_failed_artifacts(build).values("pk"))
    for model in TEXT_MODELS:
        rows = model._default_manager.filter(
            artifact=OuterRef("pk"), state=WrittenText.State.FAILED
        )
        live = rows.filter(build=build.index.live_build_id)
        failed |= Q(Exists(rows.filter(build=build))) & ~Q(Exists(live))
    return artifacts.filter(failed).count()


# --- Measuring -------------------------------------------------------------------------------


def _find_recent_comparison(build: IndexBuild) -> dict[str, Any] | None:
    """Return the stored comparison if it is recent, undecided and with the current live build."""
    comparison, live = build.comparison, build.index.live_build
    if not comparison or comparison.get("verdict") or not comparison["measures"]:
        return None
    if live is None or comparison["live_build"] != live.number:
        return None
    age = timezone.now() - datetime.fromisoformat(comparison["measured_at"])
    return comparison if age < timedelta(minutes=COMPARISON_VALID_MINUTES) else None


def _make_unmeasured_comparison() -> dict[str, Any]:
    return {
        "source": None,
        "is_optimistic": False,
        "query_count": 0,
        "measures": {},
        "is_loss": False,
        "measured_at": timezone.now().isoformat(),
    }


def _describe_loss(measured: Mapping[str, Any]) -> str:
    lost = [
        f"{name} falls by {-each['difference']:.3f}"
        for name, each in measured["measures"].items()
        if each["is_loss"]
    ]
    return f"{' and '.join(lost)}, more than chance explains."


# --- Deciding --------------------------------------------------------------------------------


def _promote_and_store(build: IndexBuild, measured: dict[str, Any] | None, reason: str) -> bool:
    comparison = measured or _make_unmeasured_comparison()
    try:
        with transaction.atomic():
            if not _lock_if_undecided(build):
                return False
            promote_build(build, is_forced=build.promotion == Promotion.FORCED)
            IndexBuild.objects.filter(pk=build.pk).update(
                comparison={**comparison, "verdict": f"promoted: {reason}"}
            )
    except BuildUnfinished:
        # A document was added meanwhile. Keep the comparison for when the build is complete again.
        find_builds_to_promote().filter(pk=build.pk).update(comparison=comparison)
        return False
    return True


def _refuse_and_store(build: IndexBuild, measured: dict[str, Any] | None, reason: str) -> bool:
    comparison = measured or _make_unmeasured_comparison()
    with transaction.atomic():
        if _lock_if_undecided(build):
            IndexBuild.objects.filter(pk=build.pk).update(
                promotion=Promotion.MANUAL,
                comparison={**comparison, "verdict": f"refused: {reason}"},
            )
    return False


def _lock_if_undecided(build: IndexBuild) -> bool:
    """Lock the index, and return whether the same promotion is still requested against the same
    live build. The lock holds until the transaction ends."""
    index = Index.objects.select_for_update().get(pk=build.index_id)
    return (
        index.live_build_id == build.index.live_build_id
        and find_builds_to_promote().filter(pk=build.pk, promotion=build.promotion).exists()
    )
