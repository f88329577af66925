"""Indexes, their builds, and the ledger: one row for every point that must exist."""

import json
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils.functional import cached_property

from documents.models import Artifact, Source
from indexing.spec import IndexSpec


class Index(models.Model):
    """What users name: a set of documents and the recipe it is searched by."""

    name = models.CharField(max_length=63, primary_key=True)
    live_build = models.OneToOneField(
        "IndexBuild", null=True, on_delete=models.SET_NULL, related_name="live_of"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "indexes"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class IndexBuildQuerySet(models.QuerySet["IndexBuild"]):
    def receiving(self) -> "IndexBuildQuerySet":
        """Builds that must hold what their index's documents say now."""
        return self.exclude(state=IndexBuild.State.RETIRED).select_related("index")

    def concerned_with(self, artifact_id: UUID) -> "IndexBuildQuerySet":
        """Receiving builds of the artifact's index, and those that still have nodes of it."""
        index = Artifact.objects.filter(pk=artifact_id).values("index")
        nodes = Node.objects.filter(build=OuterRef("pk"), artifact=artifact_id)
        return self.receiving().filter(Q(index__in=index) | Exists(nodes))

    def live(self) -> "IndexBuildQuerySet":
        """The builds that answer searches, one per index."""
        return self.filter(live_of__isnull=False).select_related("index")


@lru_cache(maxsize=256)
def _read_spec(recipe: str) -> IndexSpec:
    """Kept: each task reads its build anew, and most have a recipe seen before."""
    return IndexSpec.model_validate_json(recipe)


class IndexBuild(models.Model):
    """One index made by one version of its spec; its recipe never changes."""

    class State(models.TextChoices):
        BUILDING = "building"
        LIVE = "live"
        RETIRED = "retired"

    index = models.ForeignKey(Index, on_delete=models.CASCADE, related_name="builds")
    number = models.PositiveIntegerField()
    recipe = models.JSONField(help_text="The spec it was made from.")
    fingerprint = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=State, default=State.BUILDING)
    problem = models.TextField(
        blank=True, editable=False, help_text="What keeps it from settling just now."
    )
    writing_problem = models.TextField(
        blank=True, editable=False, help_text="What keeps summaries and questions from it."
    )
    audit_cursor = models.UUIDField(
        null=True, editable=False, help_text="Artifact up to which the last audit came."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = IndexBuildQuerySet.as_manager()

    class Meta:
        ordering = ["index", "number"]
        constraints = [
            models.UniqueConstraint(fields=["index", "number"], name="build_index_number"),
        ]

    def __str__(self) -> str:
        return f"{self.index_id} #{self.number}"

    @cached_property
    def spec(self) -> IndexSpec:
        return _read_spec(json.dumps(self.recipe))

    def collection(self, kind: str) -> str:
        """The collection that holds this build's nodes of ``kind``."""
        return f"{self.spec.collection_alias(kind)}.{self.number}"

    def collections(self) -> dict[str, list[str]]:
        """Every collection of this build, with the kinds it holds."""
        collections: dict[str, list[str]] = {}
        for kind in self.spec.kinds:
            collections.setdefault(self.collection(kind), []).append(kind)
        return collections


class NodeQuerySet(models.QuerySet["Node"]):
    def unsettled(self, build: IndexBuild) -> "NodeQuerySet":
        """Nodes of ``build`` the store does not hold as they should be yet."""
        return self.filter(build=build, state=Node.State.PENDING)

    def claimable(self, build: IndexBuild) -> "NodeQuerySet":
        """Unsettled nodes no worker holds a running lease on."""
        return self.unsettled(build).filter(Q(leased_until=None) | Q(leased_until__lt=Now()))

    def removable(self, build: IndexBuild) -> "NodeQuerySet":
        """Doomed nodes whose replacements are in place and that no worker is writing."""
        awaited = Node.objects.filter(
            build=build, artifact=OuterRef("artifact_id"), state=Node.State.PENDING
        )
        artifact = Artifact.objects.filter(pk=OuterRef("artifact_id"))
        return self.filter(
            Q(leased_until=None) | Q(leased_until__lt=Now()),
            ~Exists(awaited) | ~Exists(artifact),
            build=build,
            state=Node.State.DOOMED,
        )

    def exhausted(self, build: IndexBuild) -> "NodeQuerySet":
        """Unsettled nodes that used up their attempts, held by no one."""
        return self.claimable(build).filter(attempts__gte=settings.STRATA_MAX_ATTEMPTS)

    def live(self) -> "NodeQuerySet":
        """Nodes of the builds that answer searches."""
        return self.filter(build__live_of__isnull=False)


class Node(models.Model):
    """A ledger row: a point that must exist, or (doomed) must go.

    Pages, sources and artifacts are named without database constraints: a row outlives what
    it was made from until its point is gone.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        SETTLED = "settled"
        DOOMED = "doomed"
        FAILED = "failed"

    build = models.ForeignKey(
        IndexBuild, on_delete=models.CASCADE, related_name="nodes", db_index=False
    )
    point_id = models.UUIDField()
    kind = models.CharField(max_length=20)
    artifact = models.ForeignKey(
        Artifact, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False,
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
    strategy = models.CharField(max_length=20, blank=True)
    chunk_index = models.PositiveIntegerField(null=True)
    start_offset = models.PositiveIntegerField(null=True)
    end_offset = models.PositiveIntegerField(null=True)
    text = models.TextField()
    context = models.TextField(blank=True, help_text="Embedded in front of the text.")
    text_hash = models.CharField(max_length=64, null=True)
    source_hash = models.CharField(max_length=64, null=True)
    label_hash = models.CharField(max_length=64, help_text="The artifact's, when this was planned.")
    input_hash = models.CharField(max_length=64, help_text="Of all that decides the vectors.")
    settled_input_hash = models.CharField(
        max_length=64, blank=True, help_text="The input whose vectors the store holds."
    )
    payload_hash = models.CharField(max_length=64, help_text="Of what is stored beside them.")
    details = models.JSONField(default=dict, help_text="What its kind stores beside the text.")
    token_count = models.PositiveIntegerField(default=0)
    embedding_model = models.CharField(max_length=200)
    dimension = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.TextField(blank=True)
    lease_token = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    planned_at = models.DateTimeField()
    embedded_at = models.DateTimeField(null=True, help_text="When its vectors were made.")
    settled_at = models.DateTimeField(null=True)

    objects = NodeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["build", "point_id"], name="node_build_point"),
            models.UniqueConstraint(
                fields=["build", "source", "strategy", "chunk_index"],
                condition=Q(kind="chunk") & ~Q(state="doomed"),
                name="node_chunk_place",
            ),
        ]
        indexes = [
            models.Index(fields=["artifact", "build", "state"], name="node_artifact"),
            models.Index(fields=["source", "build"], name="node_source"),
            models.Index(
                fields=["build", "state", "attempts"],
                name="node_unsettled",
                condition=~Q(state="settled"),
            ),
            models.Index(
                fields=["lease_token"], name="node_leased", condition=Q(lease_token__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.point_id}"


def lease_end(seconds: int) -> Any:
    """When a lease taken now runs out, on the database's clock."""
    return Now() + timedelta(seconds=seconds)


def settled_values() -> dict[str, Any]:
    """What a finished claim writes to its rows."""
    return {
        "state": Node.State.SETTLED,
        "settled_input_hash": F("input_hash"),
        "settled_at": Now(),
        "attempts": 0,
        "last_error": "",
        "lease_token": None,
        "leased_until": None,
    }
