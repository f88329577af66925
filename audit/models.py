"""The audit log: who did what, when and from where. ``audit.services`` writes and seals it."""

import hashlib
import json
from datetime import UTC
from typing import Any

from cryptography.fernet import Fernet
from django.db import models
from django.db.models import Q
from django.utils import timezone


def hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Subject(models.Model):
    """Whom rows are about. Names and addresses are in the rows, encrypted with ``secret``."""

    class Kind(models.TextChoices):
        KEY = "key"
        USER = "user"
        SERVER = "server"  # its own key, with which commands send requests
        COMMAND = "command"
        NOBODY = "nobody"  # all callers without a key

    kind = models.CharField(max_length=10, choices=Kind)
    number = models.PositiveBigIntegerField(default=0, help_text="Id of the key or the user.")
    secret = models.CharField(max_length=44, help_text="Fernet key; empty if it was erased.")
    secret_hash = models.CharField(max_length=64, help_text="SHA-256 of the secret, also later.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "number"], condition=~Q(secret=""), name="audit_subject_open"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number or ''}".strip()

    @property
    def has_its_secret(self) -> bool:
        """Whether it has the secret that it was made with, or was erased."""
        return not self.secret or hash_secret(self.secret) == self.secret_hash

    def encrypt(self, name: str, address: str | None) -> str:
        return Fernet(self.secret).encrypt(json.dumps([name, address]).encode()).decode()


class AuditRow(models.Model):
    """One change or, by a setting, one search or read. It holds no text, query or secret."""

    index_path = "index"

    at = models.DateTimeField(default=timezone.now, db_index=True)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, related_name="+")
    person = models.TextField(help_text="Name and address, encrypted for the subject.")
    method = models.CharField(max_length=10)
    route = models.CharField(max_length=200, help_text="Without what the caller put into it.")
    index = models.CharField(max_length=63, blank=True)
    document = models.CharField(max_length=36, blank=True, help_text="Id of what it is about.")
    revision = models.PositiveBigIntegerField(null=True, help_text="Of the document afterwards.")
    status = models.SmallIntegerField(help_text="HTTP status, or exit status of a command.")
    position = models.PositiveBigIntegerField(
        null=True, unique=True, help_text="In the chain of seals; empty until it is sealed."
    )
    seal = models.CharField(max_length=64, blank=True, help_text="SHA-256 of this and the last.")

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["index", "-id"], name="audit_index"),
            models.Index(fields=["document", "-id"], name="audit_document"),
            models.Index(fields=["id"], name="audit_unsealed", condition=Q(position=None)),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.route}"

    @property
    def name_and_address(self) -> tuple[str | None, str | None]:
        if not self.subject.secret or not self.subject.has_its_secret:
            return None, None  # erased, or changed in the database
        name, address = json.loads(Fernet(self.subject.secret).decrypt(self.person))
        return name, address

    def compute_seal(self, previous: str) -> str:
        """The person is hashed as encrypted, and of the secret its hash, so that the seal holds
        after the secret is gone."""
        who = [self.subject.kind, self.subject.number, self.subject.secret_hash]
        return _hash([*self._list_content(previous), who])

    def has_seal_after(self, previous: str) -> bool:
        """Whether its seal is right, and names whom it did when it was sealed. Rows of 0.2.0 and
        before were sealed without saying who the subject is."""
        earlier = _hash(self._list_content(previous))
        return self.seal in (self.compute_seal(previous), earlier) and self.subject.has_its_secret

    def _list_content(self, previous: str) -> list[Any]:
        return [
            previous, self.pk, self.at.astimezone(UTC).isoformat(), self.subject_id, self.person,
            self.method, self.route, self.index, self.document, self.status,
            *([] if self.revision is None else [self.revision]),
        ]  # fmt: skip


def _hash(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Chain(models.Model):
    """The only row says where the chain of seals begins, after pruning, and where it ends."""

    pruned_position = models.PositiveBigIntegerField(default=0)
    pruned_seal = models.CharField(max_length=64, blank=True)
    position = models.PositiveBigIntegerField(default=0)
    seal = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.position}: {self.seal}"
