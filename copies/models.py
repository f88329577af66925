"""The sketches of documents, by which near copies are found."""

import uuid

from django.db import models

from documents.models import Artifact


class Sketch(models.Model):
    """The MinHash of a document's words, and the group of documents that are near copies of each
    other. A document without near copies is alone in its group."""

    index_path = "artifact__index"

    artifact = models.OneToOneField(
        Artifact, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    sha256 = models.CharField(max_length=64, help_text="Of the content that it was made from.")
    signature = models.BinaryField()
    group = models.UUIDField(default=uuid.uuid4, db_index=True)

    def __str__(self) -> str:
        return f"sketch of {self.artifact_id}"


class Band(models.Model):
    """A part of a signature, hashed: near copies have one in common."""

    index_path = "sketch__artifact__index"

    sketch = models.ForeignKey(Sketch, on_delete=models.CASCADE, related_name="bands")
    key = models.BigIntegerField(db_index=True)

    def __str__(self) -> str:
        return f"band {self.key}"
