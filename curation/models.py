"""Edits of documents, and what each document was before."""

import uuid
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from access.grants import Grant
from core.leases import LeasedQuerySet, LeasedRow, index_of_leases
from documents.models import Artifact


class EditQuerySet(LeasedQuerySet["Edit"]):
    def unfinished(self) -> "EditQuerySet":
        """Edits with work left, first the one that has waited longest since its last batch."""
        states = [Edit.State.WAITING, Edit.State.UNDOING]
        return self.filter(state__in=states).order_by("worked_at")


class Edit(LeasedRow):
    """One change of some documents of an index, as someone asked for it."""

    index_path = "index"

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        UNDOING = "undoing"
        UNDONE = "undone"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    index = models.CharField(max_length=63)
    change = models.JSONField(help_text="As ``curation.changes.Change``.")
    grant_indexes = models.JSONField(null=True, help_text="What who asked for it may see.")
    grant_groups = models.JSONField(null=True)
    asked_by = models.CharField(max_length=150, help_text="The key or user that asked for it.")
    count = models.PositiveIntegerField(help_text="Documents to change, without their parts.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created_at = models.DateTimeField(auto_now_add=True)
    worked_at = models.DateTimeField(default=timezone.now, help_text="When its last batch ended.")
    finished_at = models.DateTimeField(null=True)
    undo_until = models.DateTimeField(null=True, help_text="Empty: it cannot be undone.")

    objects = EditQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [
            index_of_leases("edit_leased"),
            models.Index(fields=["index", "-created_at"], name="edit_newest"),
            models.Index(
                fields=["worked_at"],
                name="edit_unfinished",
                condition=Q(state__in=["waiting", "undoing"]),
            ),
        ]

    def __str__(self) -> str:
        return f"edit {self.pk}"

    @property
    def grant(self) -> Grant:
        """What who asked for it might see then: the edit changes nothing else."""
        named = (self.grant_indexes, self.grant_groups)
        indexes, groups = (None if each is None else frozenset(each) for each in named)
        return Grant(indexes=indexes, groups=groups)


class EditedDocument(models.Model):
    """A document of an edit. It goes with the document, so that no text of a deleted one stays."""

    index_path = "edit__index"

    class State(models.TextChoices):
        WAITING = "waiting"
        CHANGED = "changed"
        REFUSED = "refused"
        UNDONE = "undone"

    edit = models.ForeignKey(Edit, on_delete=models.CASCADE, related_name="documents")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    is_shared = models.BooleanField(
        default=False, help_text="A file of a ZIP or an e-mail, which was changed with it."
    )
    before = models.JSONField(default=dict, help_text="What was changed, as it was.")
    after = models.JSONField(default=dict, help_text="What was changed, as it became.")
    error = models.JSONField(null=True, help_text="Why it was refused.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["edit", "artifact"], name="edited_document_once")
        ]
        indexes = [models.Index(fields=["edit", "state"], name="edited_document_state")]

    def __str__(self) -> str:
        return f"{self.artifact_id} in {self.edit_id}"

    def refuse(self, error: dict[str, Any]) -> None:
        self.state, self.error = self.State.REFUSED, error
        self.save(update_fields=["state", "error"])
