"""Vectors of evidence that the vector store does not hold yet, repeats of stored findings, and
links between similar findings."""

from typing import Any

import numpy as np
from django.db import models
from numpy.typing import NDArray

from access.grants import Grant
from documents.groups import is_visible
from documents.models import Artifact

Vectors = NDArray[np.float32]


class FindingVectors(models.Model):
    """The vectors of one finding, as its index embeds it."""

    index_path = "artifact__index"

    vector_space_hash = models.CharField(
        max_length=64,
        help_text="Hash of the embedding settings. Only vectors with the same hash are comparable.",
    )
    vectors = models.BinaryField(help_text="Unit vectors of its chunks, float32, row by row.")
    vector_count = models.PositiveIntegerField(help_text="Number of vectors.")

    class Meta:
        abstract = True

    def read_vectors(self) -> Vectors:
        """(count, dimension)."""
        return np.frombuffer(self.vectors, np.float32).reshape(self.vector_count, -1)


def vector_values(vectors: Vectors, vector_space_hash: str) -> dict[str, Any]:
    """The field values of ``FindingVectors``."""
    return {
        "vector_space_hash": vector_space_hash,
        "vectors": vectors.tobytes(),
        "vector_count": len(vectors),
    }


class RecentEvidence(FindingVectors):
    """The vectors of a newly added finding, kept until the vector store holds them, so that the
    next finding is compared with it too."""

    artifact = models.OneToOneField(
        Artifact, on_delete=models.CASCADE, primary_key=True, related_name="recent_evidence"
    )
    added_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "recent evidence"

    def __str__(self) -> str:
        return f"{self.vector_count} vectors of {self.artifact_id}"


class EvidenceReferenceQuerySet(models.QuerySet["EvidenceReference"]):
    def visible_to(self, grant: Grant) -> "EvidenceReferenceQuerySet":
        return self.filter(is_visible(grant))


class EvidenceReference(FindingVectors):
    """A finding that repeats a stored one. If the stored one is changed or deleted, this one may
    take its place.

    It has the groups that it would have as a document, so it may be hidden from those who see the
    finding that it repeats.
    """

    artifact = models.ForeignKey(
        Artifact,
        # Receivers in ``signals.py`` give it another artifact, or delete it.
        on_delete=models.DO_NOTHING,
        related_name="evidence_references",
        help_text="The finding that it repeats.",
    )
    repeated_sha256 = models.CharField(
        max_length=64, editable=False, help_text="SHA-256 of the content that it repeats."
    )
    similarity = models.FloatField(help_text="Cosine to that content.")
    url = models.CharField(max_length=2_000)
    external_id = models.CharField(max_length=255)
    title = models.CharField(max_length=1_000, blank=True)
    content = models.TextField()
    citation = models.JSONField(default=dict, blank=True)
    groups = models.JSONField(default=list, blank=True)
    added_at = models.DateTimeField(auto_now_add=True)

    objects = EvidenceReferenceQuerySet.as_manager()

    class Meta:
        ordering = ["added_at", "pk"]
        indexes = [models.Index(fields=["external_id"], name="evidence_reference_id")]

    def __str__(self) -> str:
        return f"{self.url} repeats {self.artifact_id}"


class SimilarFindingsQuerySet(models.QuerySet["SimilarFindings"]):
    def current(self) -> "SimilarFindingsQuerySet":
        """Leave out links between contents of which one has changed."""
        return self.filter(
            newer_sha256=models.F("newer__sha256"), older_sha256=models.F("older__sha256")
        )


class SimilarFindings(models.Model):
    """A link between two findings that are near each other and say something else."""

    index_path = "newer__index"

    newer = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="+")
    older = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="+")
    newer_sha256 = models.CharField(max_length=64, help_text="Of the content that was compared.")
    older_sha256 = models.CharField(max_length=64, help_text="Of the content that was compared.")
    similarity = models.FloatField(help_text="Cosine.")

    objects = SimilarFindingsQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "similar findings"
        constraints = [
            models.UniqueConstraint(fields=["newer", "older"], name="similar_findings_once")
        ]

    def __str__(self) -> str:
        return f"{self.newer_id} is similar to {self.older_id}"
