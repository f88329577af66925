"""What the vector store cannot be asked for yet."""

import numpy as np
from django.db import models
from numpy.typing import NDArray

from documents.models import Artifact

Vectors = NDArray[np.float32]


class RecentEvidence(models.Model):
    """The vectors of a finding that was just given, until the vector store holds them: the next
    one is compared with it all the same."""

    artifact = models.OneToOneField(
        Artifact, on_delete=models.CASCADE, primary_key=True, related_name="recent_evidence"
    )
    space = models.CharField(
        max_length=64, help_text="Hash of what made the vectors: others cannot be compared."
    )
    vectors = models.BinaryField(help_text="Unit vectors of its chunks, float32, row by row.")
    count = models.PositiveIntegerField(help_text="How many vectors.")
    added_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "recent evidence"

    def __str__(self) -> str:
        return f"{self.count} vectors of {self.artifact_id}"

    def read_vectors(self) -> Vectors:
        """(count, dimension)."""
        return np.frombuffer(self.vectors, np.float32).reshape(self.count, -1)
