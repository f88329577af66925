"""The ledger: one row for every point that must exist, and what belongs to it."""

import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from core.leases import FRESH, LeasedQuerySet, LeasedRow, index_of_leases
from documents.models import Artifact, Page, Source
from indexing.models.builds import IndexBuild

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


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

    index_path = "build__index"

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
            index_of_leases("node_leased"),
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
        page and source hold only what payloads say of them; other fields are loaded on
        access."""
        page, source = node.parent_node, node.source_node
        database = None if artifact is None else artifact._state.db
        assert source is not None
        return cls(
            build=build,
            artifact=artifact,
            page=None
            if page is None
            else Page.from_db(  # the fields in the order of the model
                database, ["id", *page.metadata], [uuid.UUID(page.node_id), *page.metadata.values()]
            ),
            source=None
            if artifact is None or source.node_id == str(artifact.pk)
            else Source.from_db(
                database,
                ["id", "ordinal", "start"],
                [uuid.UUID(source.node_id), source.metadata["ordinal"], source.metadata["start"]],
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

    index_path = "build__index"

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
            index_of_leases("document_leased"),
            models.Index(
                fields=["build", "state", "is_unread", "kinds_to_regenerate"],
                name="document_unfinished",
                condition=~Q(state="ready"),
            ),
        ]

    def __str__(self) -> str:
        return f"artifact {self.artifact_id} in {self.build}"


class UnconfirmedWrite(models.Model):
    """Points of a write or deletion that the store has not confirmed."""

    index_path = "build__index"

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

    index_path = "build__index"

    build = models.ForeignKey(IndexBuild, on_delete=models.CASCADE, related_name="+")
    synced_count = models.BigIntegerField()
    node_count = models.BigIntegerField(help_text="In any state.")

    def __str__(self) -> str:
        return f"{self.node_count:+d} nodes, {self.synced_count:+d} synced"


class PointAudit(LeasedRow):
    """How far the points of a build are compared with its nodes. It starts again at the end."""

    index_path = "build__index"

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
