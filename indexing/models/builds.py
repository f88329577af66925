"""Indexes and their builds."""

import json

from django.db import models
from django.db.models import F, Max
from django.utils import timezone
from django.utils.functional import cached_property

from core.exceptions import UnknownIndex
from indexing.exceptions import PointsLost, UnreadableRecipe
from indexing.spec import UNPLACED, IndexSpec, StoreSpec, read_stored_spec


class IndexQuerySet(models.QuerySet["Index"]):
    def not_being_removed(self) -> "IndexQuerySet":
        """Indexes whose removal was not requested."""
        return self.filter(removal_requested_at=None)

    def public(self) -> "IndexQuerySet":
        """Indexes that may be searched without a key."""
        return self.not_being_removed().filter(is_public=True)

    def require(self, name: str) -> None:
        """Check that an index of this name exists. Raises ``UnknownIndex``: there is no such index;
        lists the names."""
        if not self.filter(pk=name).exists():
            raise UnknownIndex.named(name, self.values_list("name", flat=True))


class Index(models.Model):
    """A named set of documents; its builds hold the vectors."""

    index_path = "name"

    name = models.CharField(max_length=63, primary_key=True)
    live_build = models.OneToOneField(
        "IndexBuild", null=True, on_delete=models.SET_NULL, related_name="live_of"
    )
    search_settings = models.OneToOneField(
        "SearchSettings", null=True, on_delete=models.SET_NULL, related_name="+"
    )
    store_settings = models.JSONField(
        null=True, editable=False, help_text="How a Qdrant server keeps its collections."
    )
    is_public = models.BooleanField(
        default=False, editable=False, help_text="Whether searches of it need no key."
    )
    removal_requested_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When its removal was requested. It accepts no writes or searches since.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = IndexQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "indexes"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def next_build_number(self) -> int:
        """Number for the next build; never reused, because old collections may still exist."""
        return (self.builds.aggregate(Max("number"))["number__max"] or 0) + 1

    @property
    def live_reading(self) -> int:
        """The number of the readings that searches see."""
        return self.live_build.reading if self.live_build else 0

    def next_reading(self) -> int:
        """Number for the readings of the next build; no build had it."""
        return (self.builds.aggregate(Max("reading"))["reading__max"] or 0) + 1


class SearchSettings(models.Model):
    """The settings of an index's spec that affect searches but not builds. A change is a new row
    and takes effect for whichever build is live."""

    index_path = "index"

    index = models.ForeignKey(Index, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField(help_text="Counted from 1 in each index.")
    content = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "search settings"
        ordering = ["index", "number"]
        constraints = [
            models.UniqueConstraint(fields=["index", "number"], name="search_settings_number")
        ]

    def __str__(self) -> str:
        return f"{self.index_id} search settings {self.number}"


class IndexBuildQuerySet(models.QuerySet["IndexBuild"]):
    def not_retired(self) -> "IndexBuildQuerySet":
        """Builds that are not retired: they must stay in sync with the documents of their index."""
        return self.exclude(state=IndexBuild.State.RETIRED).select_related("index__search_settings")

    def not_paused(self) -> "IndexBuildQuerySet":
        """Builds that are neither retired nor paused; the live ones first."""
        live_first = F("live_of").asc(nulls_last=True)
        return self.not_retired().filter(paused_at=None).order_by(live_first, "pk")

    def live(self) -> "IndexBuildQuerySet":
        """The builds that answer searches, one per index."""
        return self.filter(live_of__isnull=False).select_related("index__search_settings")

    def readable(self) -> "list[IndexBuild]":
        """Those whose recipe this release can read. Use it in each loop over several builds, so
        that one of another release stops no other."""
        return [build for build in self if not build.reading_problem]

    def retire(self) -> int:
        """Retire these builds: reconciliations remove their points and rows. Return how many."""
        return self.update(
            state=IndexBuild.State.RETIRED,
            retired_at=timezone.now(),
            promotion=IndexBuild.Promotion.MANUAL,
        )


class IndexBuild(models.Model):
    """One index made by one recipe, which never changes."""

    index_path = "index"

    class State(models.TextChoices):
        BUILDING = "building"  # beside the live one, not searched
        LIVE = "live"
        STANDBY = "standby"  # was live before; kept in sync for a rollback
        RETIRED = "retired"  # not synced; its points are deleted, then its rows

    class Promotion(models.TextChoices):
        MANUAL = "manual"
        WHEN_COMPLETE = "when_complete"  # if no measure is significantly worse
        FORCED = "forced"  # even if measures are worse

    index = models.ForeignKey(Index, on_delete=models.CASCADE, related_name="builds")
    number = models.PositiveIntegerField()
    recipe = models.JSONField(help_text="The spec's settings for vectors and payloads.")
    fingerprint = models.CharField(max_length=64)
    placement = models.JSONField(
        default=dict, editable=False, help_text="Shards and replicas of its collections, if given."
    )
    reading = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text="It sees the last reading of each document up to this number.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.BUILDING)
    problem = models.TextField(
        blank=True, editable=False, help_text="Why it cannot sync at the moment."
    )
    writing_problem = models.TextField(
        blank=True, editable=False, help_text="Why its summaries and questions cannot be written."
    )
    audit_cursor = models.UUIDField(
        null=True, editable=False, help_text="The last artifact audited."
    )
    source_audit_cursor = models.UUIDField(
        null=True, editable=False, help_text="The last source audited."
    )
    lost_at = models.DateTimeField(
        null=True, editable=False,
        help_text="When points were found missing from the store. Until they are written again, "
        "this build answers no search.",
    )  # fmt: skip
    promotion = models.CharField(max_length=13, choices=Promotion, default=Promotion.MANUAL)
    comparison = models.JSONField(
        null=True, editable=False, help_text="Comparison with the live build, with its time."
    )
    max_calls = models.PositiveIntegerField(
        null=True, blank=True, help_text="Maximum number of LLM calls."
    )
    deadline_at = models.DateTimeField(null=True, help_text="When it is paused if incomplete.")
    paused_at = models.DateTimeField(null=True, editable=False)
    pause_reason = models.TextField(blank=True, editable=False)
    embedded_count = models.PositiveBigIntegerField(default=0, editable=False)
    embedded_tokens = models.PositiveBigIntegerField(default=0, editable=False)
    copied_count = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Nodes whose vectors were copied from another build."
    )
    promoted_at = models.DateTimeField(null=True, editable=False)
    retired_at = models.DateTimeField(null=True, editable=False)
    removed_at = models.DateTimeField(
        null=True, editable=False, help_text="When its last points and rows were removed."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = IndexBuildQuerySet.as_manager()

    class Meta:
        ordering = ["index", "number"]
        constraints = [
            models.UniqueConstraint(fields=["index", "number"], name="build_index_number")
        ]

    def __str__(self) -> str:
        return f"{self.index_id} #{self.number}"

    @cached_property
    def spec(self) -> IndexSpec:
        """Its recipe, with the search settings and the store settings of its index. Raises
        ``UnreadableRecipe``: another release stored a value that this one does not understand."""
        return read_stored_spec(*self.stored_spec)

    @property
    def stored_spec(self) -> tuple[str, str | None, str | None]:
        """The JSON texts that ``read_stored_spec`` takes."""
        search, store = self.index.search_settings, self.index.store_settings
        return (
            json.dumps(self.recipe),
            None if search is None else json.dumps(search.content),
            None if store is None else json.dumps(store),
        )

    @property
    def store_settings(self) -> StoreSpec:
        """The store settings of its index, with those that its collections were made with."""
        return self.spec.store.model_copy(update={**UNPLACED, **self.placement})

    @property
    def reading_problem(self) -> str | None:
        """Why this release cannot read the recipe. Work on all builds skips such a build."""
        try:
            self.spec  # noqa: B018
        except UnreadableRecipe as error:
            return str(error)
        return None

    @property
    def first_problem(self) -> str:
        """What holds it up, the most serious first; empty if nothing does."""
        loss = str(PointsLost()) if self.lost_at else ""
        return loss or self.reading_problem or self.problem or self.writing_problem

    def is_made_by(self, spec: IndexSpec) -> bool:
        """Whether its recipe and its placement equal the spec's. Compares recomputed fingerprints,
        not the stored one: a setting that was added since then has its default in both."""
        if self.reading_problem is not None or self.placement != spec.placement:
            return False
        return self.spec.fingerprint == spec.fingerprint

    def collection(self, kind: str) -> str:
        """The collection that holds this build's nodes of ``kind``."""
        return f"{self.spec.collection_alias(kind)}.{self.number}"

    def collections(self) -> dict[str, list[str]]:
        """Every collection of this build, with the kinds it holds."""
        collections: dict[str, list[str]] = {}
        for kind in self.spec.kinds:
            collections.setdefault(self.collection(kind), []).append(kind)
        return collections


class Throughput(models.Model):
    """Measured speed of one kind of work on this installation."""

    work = models.CharField(max_length=300, primary_key=True)
    count = models.FloatField(default=0, help_text="Tokens embedded, or calls made.")
    seconds = models.FloatField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.work
