"""Vectors of evidence that the vector store does not hold yet."""

import numpy as np
from django.db import models
from numpy.typing import NDArray

from documents.models import Artifact

Vectors = NDArray[np.float32]


class RecentEvidence(models.Model):
    """The vectors of a newly added finding, kept until the vector store holds them, so that the
    next finding is compared with it too."""

    artifact = models.OneToOneField(
        Artifact, on_delete=models.CASCADE, primary_key=True, related_name="recent_evidence"
    )
    vector_space_hash = models.CharField(
        max_length=64,
        help_text="Hash of the embedding settings. Only vectors with the same hash are comparable.",
    )
    vectors = models.BinaryField(help_text="Unit vectors of its chunks, float32, row by row.")
    vector_count = models.PositiveIntegerField(help_text="Number of vectors.")
    added_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "recent evidence"

    def __str__(self) -> str:
        return f"{self.vector_count} vectors of {self.artifact_id}"

    def read_vectors(self) -> Vectors:
        """(count, dimension)."""
        return np.frombuffer(self.vectors, np.float32).reshape(self.vector_count, -1)
