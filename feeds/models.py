"""A row for each source of an index, and one for each document that a source has or had."""

from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from core.leases import LeasedQuerySet, LeasedRow, index_of_leases
from documents.models import Artifact


class FeedQuerySet(LeasedQuerySet["Feed"]):
    def claimable(self) -> "FeedQuerySet":
        """Feeds with something to do that no worker holds."""
        entries = FeedEntry.objects.filter(feed=OuterRef("pk"))
        is_due = Q(next_listing_at__lte=Now()) | Exists(entries.due())
        may_work = Q(waits_until=None) | Q(waits_until__lte=Now())
        return self.active().free().filter(may_work, is_due)

    def active(self) -> "FeedQuerySet":
        """Feeds that their spec names and nobody has paused."""
        return self.filter(state=Feed.State.ACTIVE, is_declared=True)


class Feed(LeasedRow):
    """A source of an index, as ``sources`` of its spec names it. Workers claim it, so that one at a
    time lists it and works on its entries."""

    index_path = "index"

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"

    index = models.CharField(max_length=63)
    name = models.CharField(max_length=63)
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    is_declared = models.BooleanField(default=True, help_text="Whether the spec still names it.")
    next_listing_at = models.DateTimeField(null=True, default=timezone.now)
    waits_until = models.DateTimeField(
        null=True, help_text="Nothing is asked of it before: it failed, or said when to come again."
    )
    listed_at = models.DateTimeField(null=True, help_text="When it was last listed in full.")
    finished_at = models.DateTimeField(
        null=True, help_text="When nothing was left to do after a full listing."
    )
    progress_at = models.DateTimeField(null=True)
    failed_listings = models.PositiveIntegerField(
        default=0, help_text="That failed since the last full one."
    )
    error_code = models.CharField(max_length=60, blank=True)
    waiting_removals = models.PositiveIntegerField(
        default=0, help_text="Documents whose removal waits for a person."
    )
    report = models.JSONField(
        default=dict, help_text="What changed at the last full listing and since."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    given_up_state = State.ACTIVE  # it is tried again as long as its spec names it

    objects = FeedQuerySet.as_manager()

    class Meta:
        ordering = ["index", "name"]
        constraints = [
            models.UniqueConstraint(fields=["index", "name"], name="feed_index_name"),
        ]
        indexes = [index_of_leases("feed_leased")]

    def __str__(self) -> str:
        return f"{self.name} of {self.index}"


class FeedEntryQuerySet(LeasedQuerySet["FeedEntry"]):
    def due(self) -> "FeedEntryQuerySet":
        """Entries that can be worked on now."""
        states = [FeedEntry.State.DUE, FeedEntry.State.REMOVING]
        return self.filter(state__in=states, next_attempt_at__lte=Now())


class FeedEntry(LeasedRow):
    """A document that a source has or had, and what became of it here.

    Its feed is claimed, not the entry, so that its lease stays empty.
    """

    index_path = "feed__index"

    class State(models.TextChoices):
        NEW = "new"  # seen, but by no full listing yet
        DUE = "due"  # to be fetched, or to get other attributes
        CURRENT = "current"
        FAILED = "failed"  # given up until it changes or a person asks
        MISSING = "missing"  # a full listing lacked it; searches still find it
        REMOVING = "removing"  # to be removed: two full listings lacked it, or a person confirmed

    feed = models.ForeignKey(Feed, on_delete=models.CASCADE, related_name="entries")
    key = models.TextField(help_text="The source's id of the document.")
    key_hash = models.CharField(max_length=64, help_text="SHA-256 of the key.")
    path = models.TextField()
    listed_version = models.TextField(blank=True)
    version = models.TextField(blank=True, help_text="Of the content that was fetched last.")
    listed = models.JSONField(
        default=dict, help_text="Title, URL, groups and metadata, as listed last."
    )
    applied = models.JSONField(default=dict, help_text="Those that its document was given.")
    sha256 = models.CharField(max_length=64, blank=True, help_text="Empty: never fetched.")
    byte_count = models.PositiveBigIntegerField(null=True)
    artifact = models.ForeignKey(
        Artifact, null=True, on_delete=models.SET_NULL, related_name="feed_entries"
    )
    is_adopted = models.BooleanField(
        default=False, help_text="A person had given the document before: it is never removed."
    )
    state = models.CharField(max_length=10, choices=State, default=State.NEW)
    missing_since = models.DateTimeField(null=True)
    missing_count = models.PositiveSmallIntegerField(
        default=0, help_text="Full listings in a row that lacked it and are believed."
    )
    is_removal_confirmed = models.BooleanField(default=False)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    error_code = models.CharField(max_length=60, blank=True)

    objects = FeedEntryQuerySet.as_manager()

    class Meta:
        ordering = ["path", "id"]
        verbose_name_plural = "feed entries"
        constraints = [
            models.UniqueConstraint(fields=["feed", "key_hash"], name="feed_entry_key"),
        ]
        indexes = [
            models.Index(fields=["feed", "state", "next_attempt_at"], name="feed_entry_due"),
            models.Index(fields=["feed", "sha256"], name="feed_entry_sha256"),
        ]

    def __str__(self) -> str:
        return self.path


SEEN_AGAIN: dict[str, Any] = {
    "missing_since": None,
    "missing_count": 0,
    "is_removal_confirmed": False,
}
