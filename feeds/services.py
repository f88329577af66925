"""Which feeds there are, which is worked on, and what people decide about them.

The rows are the queue: every function may run twice, late, or on two machines at once. Nothing here
enqueues tasks.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Min, Q
from django.db.models.functions import Now
from django.utils import timezone

from core.exceptions import StrataError
from core.expected_errors import is_database_unavailable
from core.leases import FRESH, NO_LEASE, describe_error
from feeds.exceptions import ListingRefused, NothingToConfirm, SourcePaused, UnknownFeed
from feeds.fetching import Holding, LeaseLost, Work
from feeds.listing import list_feed, preview_listing
from feeds.models import Feed, FeedEntry
from feeds.protocol import Reader, SourceSettings
from feeds.spec import read_stored_source
from indexing.models import Index

logger = logging.getLogger(__name__)

SLICE_SECONDS = 20.0  # after which another feed gets its turn
FIRST_WAIT = timedelta(seconds=30)  # after a failed listing; twice as long after the next
MAX_WAIT = timedelta(hours=6)
# What a listing lacks is looked for again so soon, so that what is gone is not found for long.
AGREE_AFTER = timedelta(seconds=60)


def list_declared(index: Index) -> dict[str, dict[str, Any]]:
    """The sources of an index, with the settings that are stored for it."""
    stored = index.search_settings
    return (stored.content.get("sources") if stored else None) or {}


def sync_feeds() -> None:
    """Make the rows those of the specs. A source that a spec no longer names keeps its rows and its
    documents, and is not read; those of a removed index are deleted, also if there is a new one of
    the same name: it would never get what the earlier one had."""
    indexes = {each.pk: each for each in Index.objects.select_related("search_settings")}
    Feed.objects.exclude(index__in=indexes).delete()
    for name, index in indexes.items():
        declared = list_declared(index)
        feeds = Feed.objects.filter(index=name)
        feeds.filter(created_at__lt=index.created_at).delete()  # those of an earlier index
        feeds.exclude(name__in=declared).filter(is_declared=True).update(is_declared=False)
        feeds.filter(name__in=declared, is_declared=False).update(is_declared=True)
        known = {feed.name: feed for feed in feeds}
        for source in declared:
            feed = known.get(source) or Feed.objects.get_or_create(index=name, name=source)[0]
            _follow_period(feed, declared[source])
        if index.search_settings is not None:  # such as groups, which are not to wait for a period
            feeds.filter(
                is_declared=True,
                next_listing_at__gt=Now(),
                listed_at__lt=index.search_settings.created_at,
            ).update(next_listing_at=Now())


def _follow_period(feed: Feed, stored: dict[str, Any]) -> None:
    try:
        every = read_stored_source(stored).every
    except ValueError:
        return  # the next attempt says why
    if every is None or feed.next_listing_at is None:
        if every is not None:
            Feed.objects.filter(pk=feed.pk).update(next_listing_at=Now())
        return
    latest = timezone.now() + every
    Feed.objects.filter(pk=feed.pk, next_listing_at__gt=latest).update(next_listing_at=latest)


def load_source(feed: Feed) -> SourceSettings:
    """The settings of a feed. Raises ``ListingRefused``: this release cannot read them."""
    index = Index.objects.select_related("search_settings").filter(pk=feed.index).first()
    stored = list_declared(index).get(feed.name) if index is not None else None
    if stored is None:
        raise ListingRefused("The spec of the index does not name this source.")
    try:
        return read_stored_source(stored)
    except ValueError as error:
        raise ListingRefused(
            f"The settings of the source cannot be used: {error}", fix="Correct the spec."
        ) from None


# --- Working ---------------------------------------------------------------------------------


def work_on_feed(feed_id: int, should_stop: Callable[[], bool] = lambda: False) -> bool:
    """List a feed if that is due, or else work on its entries for a while. Returns whether there is
    more to do now."""
    claim = Feed.objects.filter(pk=feed_id).claimable().claim(1, progress_at=Now())
    if claim is None:
        return False
    feed = claim.rows.get()
    holding = Holding(claim)
    ends_at = time.monotonic() + SLICE_SECONDS
    try:
        source = load_source(feed)
        with source.open() as reader:
            if feed.next_listing_at is not None and feed.next_listing_at <= timezone.now():
                _list(feed, source, reader, holding)
            else:
                work = Work(
                    feed, reader, holding, lambda: should_stop() or time.monotonic() > ends_at
                )
                _work(feed, work)
    except LeaseLost:
        logger.info("The source %s is paused, or another worker has it", feed)
        return False
    except Exception as error:
        if is_database_unavailable(error):
            raise
        _note_failure(holding, feed, error)
        return False
    finally:
        claim.rows.update(attempts=0, **NO_LEASE)
    _note_finished(feed_id)
    return Feed.objects.filter(pk=feed_id).claimable().exists()


def _list(feed: Feed, source: SourceSettings, reader: Reader, holding: Holding) -> None:
    report = list_feed(feed, source, reader, holding.note_progress)
    wait = source.every
    if feed.entries.filter(state=FeedEntry.State.MISSING, missing_count__gt=0).exists():
        wait = min(wait or AGREE_AFTER, AGREE_AFTER)
    holding.claim.rows.update(
        listed_at=Now(),
        next_listing_at=None if wait is None else Now() + wait,
        report=report,
        failed_listings=0,
        last_error="",
        error_code="",
        waits_until=None,
    )


def _work(feed: Feed, work: Work) -> None:
    try:
        work.run()
    finally:
        counts = {**feed.report}
        for name, number in work.report.items():
            counts[name] = counts.get(name, 0) + number
        work.holding.claim.rows.update(report=counts)


def _note_failure(holding: Holding, feed: Feed, error: Exception) -> None:
    """Leave the source alone for a while, and say why. Nothing of what it has is missing."""
    if not isinstance(error, StrataError):
        logger.warning("The source %s failed", feed, exc_info=error)
    wait = min(FIRST_WAIT * 2 ** min(feed.failed_listings, 20), MAX_WAIT)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        wait = min(max(wait, timedelta(seconds=retry_after)), timedelta(days=7))
    holding.claim.rows.update(
        failed_listings=F("failed_listings") + 1,
        last_error=describe_error(error),
        error_code=getattr(error, "code", "unexpected_error"),
        waits_until=Now() + wait,
    )


def _note_finished(feed_id: int) -> None:
    busy = FeedEntry.objects.filter(feed=feed_id, attempts=0)
    if busy.filter(state__in=[FeedEntry.State.DUE, FeedEntry.State.REMOVING]).exists():
        return
    feeds = Feed.objects.filter(pk=feed_id, failed_listings=0)
    feeds.filter(Q(finished_at=None) | Q(finished_at__lt=F("listed_at"))).exclude(
        listed_at=None
    ).update(finished_at=Now())


def find_next_due_at() -> datetime | None:
    """When the next feed will have something to do; None if none will."""
    waiting = Feed.objects.active().filter(lease_token=None)
    listing = waiting.aggregate(first=Min("next_listing_at"))["first"]
    entries = FeedEntry.objects.filter(
        feed__in=waiting, state__in=[FeedEntry.State.DUE, FeedEntry.State.REMOVING]
    )
    entry = entries.aggregate(first=Min("next_attempt_at"))["first"]
    return min(filter(None, [listing, entry]), default=None)


# --- What people decide ----------------------------------------------------------------------


def require_feed(index: str, name: str) -> Feed:
    """Raises ``UnknownFeed``: lists those of the index."""
    feeds = Feed.objects.filter(index=index)
    feed = feeds.filter(name=name).first()
    if feed is None:
        raise UnknownFeed(
            f"The index {index} has no source named {name[:100]!r}.",
            field="name",
            allowed=feeds.values_list("name", flat=True),
            fix="Name it under sources in the spec; it appears here within a minute.",
        )
    return feed


def run_now(feed: Feed) -> None:
    """Have the feed listed at once, whatever it waits for, and try again what failed.

    Raises:
        SourcePaused: it is paused, or its spec does not name it.
    """
    if not feed.is_declared:
        raise SourcePaused("The spec no longer names this source.", fix="Add it there again.")
    if feed.state == Feed.State.PAUSED:
        raise SourcePaused(fix="Resume it first.")
    with transaction.atomic():
        Feed.objects.filter(pk=feed.pk).update(next_listing_at=Now(), waits_until=None)
        retry_failed(feed)


def retry_failed(feed: Feed) -> None:
    failed = feed.entries.filter(state=FeedEntry.State.FAILED)
    failed.update(state=FeedEntry.State.DUE, next_attempt_at=Now(), error_code="", **FRESH)
    waiting = feed.entries.filter(state=FeedEntry.State.DUE, attempts__gt=0)
    waiting.update(next_attempt_at=Now())


def pause(feed: Feed) -> None:
    """Read nothing from it until it is resumed. A worker that is at it stops at its next step."""
    Feed.objects.filter(pk=feed.pk).update(state=Feed.State.PAUSED)


def resume(feed: Feed) -> None:
    Feed.objects.filter(pk=feed.pk).update(state=Feed.State.ACTIVE, waits_until=None)


def confirm_removals(feed: Feed, count: int | None = None) -> int:
    """Have the documents that wait for a person removed, unless the source has them at its next
    listing, which is begun at once. Returns how many these are.

    Raises:
        NothingToConfirm: none wait, or not as many as ``count``, which the person was shown: a disk
            may have been unmounted since.
    """
    with transaction.atomic():
        waiting = Feed.objects.select_for_update().get(pk=feed.pk).waiting_removals
        if not waiting:
            raise NothingToConfirm
        if count is not None and count != waiting:
            raise NothingToConfirm(
                f"Now {waiting} documents wait for a decision, not {count}.",
                field="count",
                fix="Look again which are missing.",
            )
        missing = feed.entries.filter(state=FeedEntry.State.MISSING)
        count = missing.update(is_removal_confirmed=True)
        Feed.objects.filter(pk=feed.pk).update(next_listing_at=Now(), waits_until=None)
    return count


def preview(feed: Feed) -> dict[str, Any]:
    """What a run would change now. Raises as ``Reader.list``."""
    source = load_source(feed)
    with source.open() as reader:
        return preview_listing(feed, source, reader)


# --- What they read --------------------------------------------------------------------------


def count_entries(feeds: Sequence[Feed]) -> dict[int, dict[str, int]]:
    """How many entries each feed has in each state."""
    counts: dict[int, dict[str, int]] = {}
    rows = FeedEntry.objects.filter(feed__in=feeds).order_by().values("feed", "state")
    for row in rows.annotate(count=Count("pk")):
        counts.setdefault(row["feed"], {})[row["state"]] = row["count"]
    return counts


def describe_health(feed: Feed) -> str:
    """``well``, or the first reason for which it is not."""
    now = timezone.now()
    if not feed.is_declared:
        return "undeclared"
    if feed.state == Feed.State.PAUSED:
        return "paused"
    if feed.failed_listings:
        return "failing"
    if feed.waiting_removals:
        return "waiting"
    if feed.lease_token is not None and feed.progress_at is not None:
        stalled_at = feed.progress_at + timedelta(seconds=settings.STRATA_LEASE_SECONDS)
        return "working" if now < stalled_at else "stalled"
    return "new" if feed.listed_at is None else "well"
