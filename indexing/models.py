"""Indexes, their builds, and the ledger: one row for every point that must exist."""

import json
import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Exists, F, Max, OuterRef, Q
from django.db.models.functions import Coalesce, Now
from django.utils import timezone
from django.utils.functional import cached_property

from core.exceptions import UnknownIndex
from core.leases import FRESH, LeasedQuerySet, LeasedRow
from documents.models import Artifact, Page, Source
from indexing.exceptions import PointsLost, UnreadableRecipe
from indexing.spec import PLACEMENT, IndexSpec, StoreSpec, read_stored_spec

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


class IndexQuerySet(models.QuerySet["Index"]):
    def not_being_removed(self) -> "IndexQuerySet":
        """Indexes whose removal was not requested."""
        return self.filter(removal_requested_at=None)

    def public(self) -> "IndexQuerySet":
        """Indexes that may be searched without a key."""
        return self.not_being_removed().filter(is_public=True)

    def require(self, name: str) -> None:
        """Raises ``UnknownIndex``: there is no such index; lists the names."""
        if not self.filter(pk=name).exists():
            raise UnknownIndex.named(name, self.values_list("name", flat=True))


class Index(models.Model):
    """A named set of documents; its builds hold the vectors."""

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
        """The store settings of its index, with the shards and replicas that it was made with."""
        unplaced = dict.fromkeys(PLACEMENT)
        return self.spec.store.model_copy(update={**unplaced, **self.placement})

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


# Add it to every filter by an unsynced state. Otherwise SQLite does not use the partial index and
# reads the whole build for each claim.
NOT_SYNCED = ~Q(state="synced")


# The artifact that a node is made from, or the row of a standalone one.
MADE_FROM_ID = Coalesce("artifact_id", "point_id")


# The turn of nodes whose points were lost: they are written again after all others.
LOST_TURN = 2**30


class NodeQuerySet(LeasedQuerySet["Node"]):
    def made_from(self, ids: Collection[uuid.UUID] | models.QuerySet[Any]) -> "NodeQuerySet":
        """Nodes of these artifacts, and the standalone nodes of these ids."""
        return self.filter(Q(artifact__in=ids) | Q(artifact=None, point_id__in=ids))

    def unsynced(self, build: IndexBuild) -> "NodeQuerySet":
        """Nodes of ``build`` whose points are not written to the store yet."""
        return self.filter(NOT_SYNCED, build=build, state=Node.State.PENDING)

    def claimable(self, build: IndexBuild) -> "NodeQuerySet":
        """Unsynced nodes that no worker holds a running lease on."""
        return self.unsynced(build).free()

    def deletable(self, build: IndexBuild) -> "NodeQuerySet":
        """Nodes to delete that no worker holds and whose replacements are written."""
        awaited = Node.objects.filter(
            build=build, artifact=OuterRef("artifact_id"), state=Node.State.PENDING
        )
        artifact = Artifact.objects.filter(pk=OuterRef("artifact_id"))
        return self.free().filter(
            ~Exists(awaited) | ~Exists(artifact), NOT_SYNCED, build=build, state=Node.State.DELETING
        )

    def in_live_builds(self) -> "NodeQuerySet":
        """Nodes of the builds that answer searches."""
        return self.filter(build__live_of__isnull=False)


class Node(LeasedRow):
    """A ledger row: a point that must exist or, in the state ``deleting``, must be deleted.

    A standalone node has no artifact: it is made from a row of another app, whose id is the point
    id. Foreign keys to pages, sources and artifacts have no database constraints: a node remains
    after these are deleted until its point is deleted.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        SYNCED = "synced"
        DELETING = "deleting"
        FAILED = "failed"

    build = models.ForeignKey(
        IndexBuild, on_delete=models.CASCADE, related_name="nodes", db_index=False
    )
    point_id = models.UUIDField()
    kind = models.CharField(max_length=20)
    artifact = models.ForeignKey(
        Artifact, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False,
        related_name="+",
    )  # fmt: skip
    page = models.ForeignKey(
        "documents.Page", null=True, on_delete=models.DO_NOTHING, db_constraint=False,
        db_index=False, related_name="+",
    )  # fmt: skip
    source = models.ForeignKey(
        Source, null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False,
        related_name="+",
    )  # fmt: skip
    strategy = models.CharField(max_length=64, blank=True)
    chunk_index = models.PositiveIntegerField(null=True)
    start_offset = models.PositiveIntegerField(null=True)
    end_offset = models.PositiveIntegerField(null=True)
    text = models.TextField()
    context = models.TextField(
        blank=True, help_text="Text that is embedded in front of the node's text."
    )
    text_hash = models.CharField(max_length=64, null=True)
    source_hash = models.CharField(max_length=64, null=True)
    attributes_hash = models.CharField(
        max_length=64, blank=True, help_text="The artifact's value when this was planned."
    )
    input_hash = models.CharField(
        max_length=64, help_text="Hash of everything that determines the vectors."
    )
    synced_input_hash = models.CharField(
        max_length=64, blank=True, help_text="Input hash of the vectors in the store."
    )
    payload_hash = models.CharField(max_length=64, help_text="Hash of the payload.")
    details = models.JSONField(default=dict, help_text="Data specific to the kind of node.")
    token_count = models.PositiveIntegerField(default=0)
    embedding_model = models.CharField(max_length=200)
    dimension = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    turn = models.PositiveIntegerField(
        default=0, help_text="Workers claim nodes in this order, so that documents take turns."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    planned_at = models.DateTimeField()
    embedded_at = models.DateTimeField(null=True, help_text="When its vectors were computed.")
    synced_at = models.DateTimeField(null=True)

    objects = NodeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["build", "point_id"], name="node_build_point"),
            models.UniqueConstraint(
                fields=["build", "source", "strategy", "chunk_index"],
                condition=Q(kind="chunk") & ~Q(state="deleting"),
                name="node_chunk_place",
            ),
        ]
        indexes = [
            models.Index(fields=["artifact", "build", "state"], name="node_artifact"),
            models.Index(fields=["source", "build"], name="node_source"),
            models.Index(
                fields=["build", "state", "turn"], name="node_unsynced", condition=NOT_SYNCED
            ),
            models.Index(
                fields=["lease_token"], name="node_leased", condition=Q(lease_token__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.point_id}"

    @property
    def context_weight(self) -> float | None:
        """As that of ``WeightedContext``."""
        weight: float | None = self.details.get("context_weight")
        return weight

    @classmethod
    def from_text_node(
        cls, node: "TextNode", artifact: Artifact | None, build: IndexBuild
    ) -> "Node":
        """Make an unsaved row for a drafted node of this artifact, or for a standalone one. Its
        page and source hold only their place; other fields are loaded on access."""
        page, source = node.parent_node, node.source_node
        database = None if artifact is None else artifact._state.db
        assert source is not None
        return cls(
            build=build,
            artifact=artifact,
            page=None
            if page is None
            else Page.from_db(
                database, ["id", "index"], [uuid.UUID(page.node_id), page.metadata["index"]]
            ),
            source=None
            if artifact is None or source.node_id == str(artifact.pk)
            else Source.from_db(
                database, ["id", "ordinal"], [uuid.UUID(source.node_id), source.metadata["ordinal"]]
            ),
            point_id=uuid.UUID(node.node_id),
            start_offset=node.start_char_idx,
            end_offset=node.end_char_idx,
            text=node.text,
            source_hash=source.hash,
            **node.metadata,
        )


def synced_values() -> dict[str, Any]:
    """Field values for rows whose points were written."""
    return {
        "state": Node.State.SYNCED,
        "synced_input_hash": F("input_hash"),
        "synced_at": Now(),
        **FRESH,
    }


class IndexedDocumentQuerySet(LeasedQuerySet["IndexedDocument"]):
    def due(self, build: IndexBuild) -> "IndexedDocumentQuerySet":
        """Documents of ``build`` to be planned."""
        return self._due(build, is_unread=False)

    def unread(self, build: IndexBuild) -> "IndexedDocumentQuerySet":
        """Documents of ``build`` to be read anew, and then planned."""
        return self._due(build, is_unread=True)

    def _due(self, build: IndexBuild, *, is_unread: bool) -> "IndexedDocumentQuerySet":
        is_unfinished = ~Q(state="ready")  # otherwise SQLite does not use the partial index
        due = self.filter(is_unfinished, build=build, state=IndexedDocument.State.DUE)
        return due.filter(is_unread=is_unread)

    def unfinished(self) -> "IndexedDocumentQuerySet":
        """Documents whose build does not hold them as they are now."""
        finished = [IndexedDocument.State.READY, IndexedDocument.State.FAILED]
        return self.exclude(state__in=finished)

    def in_live_builds(self) -> "IndexedDocumentQuerySet":
        """Documents in the builds that answer searches."""
        return self.filter(build__live_of__isnull=False)


class IndexedDocument(LeasedRow):
    """One artifact in one build: a row of the planning queue, with the counts of its nodes.

    The foreign key has no database constraint: the row remains after its artifact until the last of
    its points is deleted.
    """

    class State(models.TextChoices):
        DUE = "due"  # to be planned
        WAITING = "waiting"  # planned; a summary or question is not written yet
        SYNCING = "syncing"  # planned; some points are not written or deleted yet
        READY = "ready"
        FAILED = "failed"  # its planning or one of its nodes was given up

    build = models.ForeignKey(
        IndexBuild, on_delete=models.CASCADE, related_name="documents", db_index=False
    )
    artifact = models.ForeignKey(
        Artifact, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+",
    )  # fmt: skip
    state = models.CharField(max_length=7, choices=State, default=State.DUE)
    is_unread = models.BooleanField(
        default=False, help_text="Its original is read anew before it is planned."
    )
    reading_problem = models.TextField(
        blank=True, help_text="Why the build sees the previous reading."
    )
    revision = models.PositiveBigIntegerField(
        default=0, help_text="The artifact's value when this was planned."
    )
    content_hash = models.CharField(
        max_length=64, blank=True,
        help_text="Hash of the attributes and sources used for planning. Empty: plan every kind.",
    )  # fmt: skip
    input_versions = models.JSONField(
        default=dict, help_text="Kind of node -> hash of its other inputs."
    )
    unwritten_kinds = models.JSONField(
        default=list, help_text="Kinds with texts still to be written."
    )
    kinds_to_regenerate = models.JSONField(
        default=list,
        help_text="Kinds whose nodes are embedded and texts written again when it is planned.",
    )
    pending_count = models.PositiveIntegerField(default=0)
    synced_count = models.PositiveIntegerField(default=0)
    failed_count = models.PositiveIntegerField(default=0)
    deleting_count = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now, help_text="When it last became due.")
    planned_at = models.DateTimeField(null=True, help_text="When its nodes were last planned.")
    shown_at = models.DateTimeField(
        null=True, help_text="When its first node was synced. Since then searches can find it."
    )

    objects = IndexedDocumentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["build", "artifact"], name="document_build_artifact")
        ]
        indexes = [
            models.Index(
                fields=["build", "state", "is_unread", "kinds_to_regenerate"],
                name="document_unfinished",
                condition=~Q(state="ready"),
            )
        ]

    def __str__(self) -> str:
        return f"artifact {self.artifact_id} in {self.build}"


class UnconfirmedWrite(models.Model):
    """Points of a write or deletion that the store has not confirmed."""

    build = models.ForeignKey(IndexBuild, on_delete=models.CASCADE, related_name="+")
    collection = models.CharField(max_length=255)
    point_ids = models.JSONField()
    requested_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "unconfirmed writes"

    def __str__(self) -> str:
        return f"{len(self.point_ids)} points of {self.collection}"


class NodeCountChange(models.Model):
    """A change of the number of a build's nodes that are made from artifacts, written in the same
    transaction; the current number is the sum.

    Rows are only added, so that no writer waits for another one. The audit of the points replaces
    those that it has summed by one.
    """

    build = models.ForeignKey(IndexBuild, on_delete=models.CASCADE, related_name="+")
    synced_count = models.BigIntegerField()
    node_count = models.BigIntegerField(help_text="In any state.")

    def __str__(self) -> str:
        return f"{self.node_count:+d} nodes, {self.synced_count:+d} synced"


class PointAudit(LeasedRow):
    """How far the points of a build are compared with its nodes. It starts again at the end."""

    build = models.OneToOneField(
        IndexBuild, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    cursor = models.UUIDField(null=True, help_text="The last point id compared.")
    difference = models.BigIntegerField(
        null=True,
        help_text="Points minus nodes, counted when a comparison of all points began. None: only a "
        "few points are compared each minute.",
    )
    started_at = models.DateTimeField(
        null=True, help_text="When the last comparison of all began, or found its last loss."
    )

    objects = LeasedQuerySet["PointAudit"].as_manager()

    def __str__(self) -> str:
        return f"audit of {self.build}"
