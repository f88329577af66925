"""Judgements of hits by people, and evaluation runs with their results."""

import uuid

from django.db import models
from django.db.models import Q

from core.leases import LeasedQuerySet, LeasedRow
from documents.models import Artifact
from indexing.models import Index

MAX_EARLIER_RUNS = 50


class Judgement(models.Model):
    """A person's judgement whether a hit answers its query. Only the latest one is stored."""

    index_path = "index"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    index = models.ForeignKey(Index, on_delete=models.CASCADE, related_name="+")
    query = models.TextField()
    query_hash = models.CharField(max_length=64, editable=False, help_text="SHA-256 of the query.")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="+")
    page_index = models.PositiveIntegerField(
        null=True, blank=True, help_text="Counted from 0. None: the artifact as a whole."
    )
    node_id = models.UUIDField(null=True, blank=True, help_text="The judged hit.")
    is_good = models.BooleanField(help_text="Whether the hit answers the query.")
    judged_by = models.CharField(max_length=150, help_text="Name of the API key or user.")
    judged_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-judged_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["index", "query_hash", "artifact", "page_index"],
                name="judgement_of_page",
                condition=Q(page_index__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["index", "query_hash", "artifact"],
                name="judgement_of_artifact",
                condition=Q(page_index=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{'good' if self.is_good else 'bad'}: {self.query[:60]}"


class EvaluationRunQuerySet(LeasedQuerySet["EvaluationRun"]):
    def unfinished(self) -> "EvaluationRunQuerySet":
        return self.filter(state__in=[EvaluationRun.State.QUEUED, EvaluationRun.State.RUNNING])

    def claimable(self) -> "EvaluationRunQuerySet":
        """Unfinished runs that no worker holds, oldest first."""
        return self.unfinished().free().order_by("created_at", "pk")

    def list_earlier(self, run: "EvaluationRun") -> list["EvaluationRun"]:
        """The last fifty finished runs before this one with the same queries and qrels on the same
        index, oldest first and without large fields."""
        earlier = self.without_large_fields().filter(
            index=run.index_id,
            judgements_hash=run.judgements_hash,
            state=EvaluationRun.State.DONE,
            created_at__lte=run.created_at,
        )
        return list(earlier.exclude(pk=run.pk)[:MAX_EARLIER_RUNS])[::-1]

    def without_large_fields(self) -> "EvaluationRunQuerySet":
        """Defer the fields whose size grows with the number of queries."""
        return self.defer("queries", "qrels", "details")


class EvaluationRun(LeasedRow):
    """A requested evaluation: its judged queries, progress and results."""

    index_path = "index"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    class Source(models.TextChoices):
        GIVEN = "given"
        GOLDEN = "golden"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    index = models.ForeignKey(Index, on_delete=models.CASCADE, related_name="+")
    systems = models.JSONField(help_text="Names of modes and pipelines, in the order requested.")
    baseline = models.CharField(
        max_length=100, blank=True, help_text="The system that the others are compared with."
    )
    measures = models.JSONField(help_text="In ir_measures' notation.")
    source = models.CharField(max_length=6, choices=Source)
    queries = models.JSONField(help_text="Query id -> text.")
    qrels = models.JSONField(help_text="Query id -> external id of a document -> relevance.")
    judgements_hash = models.CharField(
        max_length=64, db_index=True, help_text="Runs with the same hash are comparable."
    )
    query_count = models.PositiveIntegerField()
    build_number = models.PositiveIntegerField(
        null=True, help_text="The build that was live when it ran."
    )
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    done_count = models.PositiveIntegerField(default=0, help_text="Answers measured.")
    total_count = models.PositiveIntegerField(help_text="Answers to measure: queries × systems.")
    results = models.JSONField(default=list, help_text="One row per system.")
    details = models.JSONField(default=dict, help_text="Results of each query.")
    error_code = models.CharField(max_length=60, blank=True)
    error_detail = models.TextField(blank=True)
    asked_by = models.CharField(max_length=160, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    objects = EvaluationRunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.index_id}: {', '.join(self.systems)}"

    @classmethod
    def max_attempts(cls) -> int:
        return 3
