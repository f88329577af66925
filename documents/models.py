"""Artifacts, their pages and the sources that pages are split into."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef, Q

from access.grants import EVERYTHING, Grant
from core.leases import LeasedQuerySet, LeasedRow, index_of_leases
from core.text import hash_text
from documents.exceptions import UnknownArtifact
from documents.groups import is_visible

MAX_PLACE_CHARS = 600  # PostgreSQL indexes at most 2,704 bytes


@dataclass(frozen=True, slots=True)
class Replaced:
    """The content of a document that another one has replaced."""

    title: str
    file_name: str
    place: str
    sha256: str
    revision: int
    updated_at: datetime


class ArtifactQuerySet(LeasedQuerySet["Artifact"]):
    def unparsed(self) -> "ArtifactQuerySet":
        """Artifacts whose current content is not parsed and that no worker is parsing."""
        return self.free().filter(state__in=[Artifact.State.RECEIVED, Artifact.State.PARSING])

    def unparsed_of(self, holder: str) -> "ArtifactQuerySet":
        """Artifacts that this key or user has sent and that are not parsed yet."""
        waiting = [Artifact.State.RECEIVED, Artifact.State.PARSING]
        return self.filter(state__in=waiting, added_by=holder)

    def visible_to(self, grant: Grant) -> "ArtifactQuerySet":
        """Artifacts of the grant's indexes that have no groups or share one with the grant."""
        return grant.limit(self.filter(is_visible(grant)))

    def require(self, artifact_id: uuid.UUID, grant: Grant = EVERYTHING) -> "Artifact":
        """Get the artifact with this id. Raises ``UnknownArtifact``: the grant includes none with
        this id."""
        artifact = self.visible_to(grant).filter(pk=artifact_id).first()
        if artifact is None:
            raise UnknownArtifact(f"There is no artifact {artifact_id}.")
        return artifact

    def removable(self) -> "ArtifactQuerySet":
        """Artifacts without a legal hold on them or on one of their parts."""
        return self.filter(is_held=False).exclude(parts__is_held=True)

    def named_like(self, text: str) -> "ArtifactQuerySet":
        """Artifacts that have each of these words in their title, file name, external id or id, in
        any case."""
        names = ("title__icontains", "file_name__icontains", "external_id__icontains")
        rows = self
        for word in text.split():
            named = [Q(**{name: word}) for name in (*names, "pk__istartswith")]
            rows = rows.filter(reduce(or_, named))
        return rows

    def with_sources(self, reading: int | None = None) -> "ArtifactQuerySet":
        """Prefetch the current sources in order, or those that a build of this reading sees, each
        with its page but without the page's text."""
        return self.prefetch_related(_prefetch_sources(reading))


class RevisedRow(models.Model):
    """Base of rows that people write to an index; a search can wait for their revision."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    index = models.CharField(max_length=63, help_text="Name of its index.")
    revision = models.PositiveBigIntegerField(
        default=0,
        editable=False,
        help_text="Number of the last write; one sequence for all indexes.",
    )

    class Meta:
        abstract = True


class Artifact(LeasedRow, RevisedRow):
    """A document as its owner last sent it."""

    index_path = "index"

    class State(models.TextChoices):
        RECEIVED = "received"
        PARSING = "parsing"
        PARSED = "parsed"
        FAILED = "failed"

    identity = models.CharField(
        max_length=300, editable=False, help_text="Identifies the document when it is added again."
    )
    external_id = models.CharField(
        max_length=255, null=True, blank=True, help_text="The document's id in its owner's system."
    )
    place = models.CharField(
        max_length=MAX_PLACE_CHARS, blank=True, editable=False,
        help_text="The path that a command read its file from. Empty: another origin, or unknown.",
    )  # fmt: skip
    part_of = models.ForeignKey(
        "self", null=True, editable=False, on_delete=models.CASCADE, related_name="parts",
        help_text="The ZIP or e-mail that holds it.",
    )  # fmt: skip
    title = models.CharField(max_length=1_000, blank=True)
    file_name = models.CharField(max_length=500, blank=True)
    url = models.CharField(max_length=2_000, blank=True)
    media_type = models.CharField(max_length=150, blank=True)
    encoding = models.CharField(
        max_length=40, blank=True, help_text="Detected encoding of a text file."
    )
    metadata = models.JSONField(default=dict, blank=True)
    groups = models.JSONField(
        default=list, blank=True, help_text="Who may see it. None: all who may read the index."
    )
    sha256 = models.CharField(
        max_length=64, editable=False, help_text="SHA-256 of the content as received."
    )
    byte_count = models.PositiveBigIntegerField(default=0, editable=False)
    has_file = models.BooleanField(default=False, editable=False)
    is_held = models.BooleanField(
        default=False,
        editable=False,
        help_text="Under a legal hold: it can be neither deleted nor replaced, and never expires.",
    )
    is_scanned = models.BooleanField(
        default=False, editable=False, help_text="The virus scanner found nothing in the original."
    )
    added_by = models.CharField(
        max_length=150, blank=True, editable=False, help_text="The key or user that sent the file."
    )
    pages_read = models.PositiveIntegerField(
        default=0, editable=False, help_text="Pages of a scan that OCR has read so far."
    )
    page_count = models.PositiveIntegerField(
        default=0, editable=False, help_text="Pages of a scan that OCR reads."
    )
    has_user_title = models.BooleanField(
        default=False,
        editable=False,
        help_text="The owner set the title; parsing must not change it.",
    )
    content_title = models.CharField(
        max_length=1_000, null=True, editable=False,
        help_text="The title in its content, while the name of its file is shown as title.",
    )  # fmt: skip
    attributes_hash = models.CharField(
        max_length=64,
        editable=False,
        help_text="Hash of the attributes that its nodes' payloads contain.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.RECEIVED)
    error_code = models.CharField(max_length=60, blank=True)
    error_detail = models.TextField(blank=True)
    warnings = models.JSONField(default=list, blank=True)
    reader = models.CharField(
        max_length=200, blank=True, editable=False,
        help_text="What read its pages, with a version. Empty: release 0.2.0.",
    )  # fmt: skip
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    given_up_state = State.RECEIVED  # the next claim marks it failed, with an error message
    replaced: Replaced | None = None  # by the write that returned this instance; not stored

    objects = ArtifactQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["index", "identity"], name="artifact_index_identity"),
        ]
        indexes = [
            index_of_leases("artifact_leased"),
            models.Index(fields=["index", "sha256"]),
            models.Index(fields=["index", "created_at"]),
            models.Index(fields=["index", "updated_at"]),
            models.Index(fields=["index", "revision"]),
            models.Index(
                fields=["index", "place"], name="artifact_place", condition=~models.Q(place="")
            ),
            models.Index(
                fields=["state"],
                name="artifact_unparsed",
                condition=models.Q(state__in=["received", "parsing"]),
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.file_name or self.external_id or str(self.pk)

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.attributes_hash = self.compute_attributes_hash()
        update_fields = kwargs.get("update_fields")
        if update_fields is not None:
            kwargs["update_fields"] = {*update_fields, "attributes_hash", "updated_at"}
        super().save(*args, **kwargs)

    def compute_attributes_hash(self) -> str:
        attributes = [
            self.title, self.file_name, self.url, self.external_id, self.media_type, self.metadata,
            self.groups,
        ]  # fmt: skip
        return hash_text(json.dumps(attributes, sort_keys=True))

    def is_visible_to(self, grant: Grant) -> bool:
        return grant.includes(self.index) and grant.includes_groups(self.groups)

    @property
    def original_name(self) -> str:
        """Name of the original of the current revision, in the storage of originals."""
        name = f"{self.pk}-{self.sha256[:16]}"
        return f"{name[:2]}/{name}"


class Reading(models.Model):
    """One of the readings of a document that was read anew for a build. Its pages and sources have
    its number; a build sees the last one up to its own number. Of other documents there are only
    pages and sources with the number 0.
    """

    index_path = "artifact__index"

    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="readings")
    number = models.PositiveIntegerField()
    reader = models.CharField(max_length=200, blank=True)
    warnings = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["artifact", "number"], name="reading_artifact_number"),
        ]

    def __str__(self) -> str:
        return f"reading {self.number}"


def is_last_reading(up_to: int, field: str = "reading") -> Q:
    """For rows of documents: whether ``field`` is the number of the document's last reading up to
    this number."""
    if not up_to:
        return Q(**{field: 0})
    later = Reading.objects.filter(
        artifact=OuterRef("artifact"), number__gt=OuterRef(field), number__lte=up_to
    )
    return Q(~Exists(later), **{f"{field}__lte": up_to})


Row = TypeVar("Row", bound=models.Model)


class ReadTextQuerySet(models.QuerySet[Row]):
    def seen_by(self, reading: int) -> "ReadTextQuerySet[Row]":
        """The rows that a build of this reading sees."""
        return self.filter(is_last_reading(reading))


class CurrentManager(models.Manager[Row]):
    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().filter(is_current=True)


class ReadText(models.Model):
    """Base of pages and sources: rows with a text, whose hash is saved with it.

    ``objects`` and the relations of artifacts have what the live build sees; ``every_reading`` also
    has what other builds see.
    """

    index_path = "artifact__index"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    text = models.TextField()
    content_hash = models.CharField(
        max_length=64, null=True, editable=False, help_text="SHA-256 of the text."
    )
    reading = models.PositiveIntegerField(
        default=0, editable=False, help_text="Number of the reading that made it."
    )
    is_current = models.BooleanField(
        default=True, editable=False, help_text="Whether the live build sees it."
    )

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.content_hash = hash_text(self.text)
        update_fields = kwargs.get("update_fields")
        if update_fields is not None:
            kwargs["update_fields"] = {*update_fields, "content_hash"}
        super().save(*args, **kwargs)


class Page(ReadText):
    """A page, slide, sheet or top-level section of an artifact."""

    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="pages")
    index = models.PositiveIntegerField(help_text="Counted from 0.")
    label = models.CharField(
        max_length=300, blank=True, help_text="Slide title, sheet name or heading."
    )
    text = models.TextField(blank=True)
    ocr_lines = models.JSONField(
        default=list,
        editable=False,
        help_text="Confidence and box of each line that OCR read, in the order of the text.",
    )
    unseen = models.JSONField(
        default=list, editable=False,
        help_text="Text that is not seen on it, each with the reason.",
    )  # fmt: skip
    unseen_start = models.PositiveIntegerField(
        null=True, editable=False,
        help_text="Where unseen text begins in its text, if the index holds it.",
    )  # fmt: skip
    unreadable_count = models.PositiveIntegerField(
        default=0, editable=False, help_text="Characters of which the file says no letter."
    )
    warnings = models.JSONField(
        default=list, editable=False, help_text="The codes of its document's warnings about it."
    )

    objects = CurrentManager["Page"]()
    every_reading = ReadTextQuerySet["Page"].as_manager()

    class Meta:
        ordering = ["artifact", "index"]
        constraints = [
            models.UniqueConstraint(
                fields=["artifact", "reading", "index"], name="page_artifact_index"
            ),
        ]

    def __str__(self) -> str:
        return f"page {self.index}"

    def holds_unseen(self, source: "Source") -> bool:
        """Whether one of its sources is text that is not seen on it."""
        return self.unseen_start is not None and source.start >= self.unseen_start


UNSEEN_PASSAGE = "unseen_passage"  # the warning of a passage that is not seen on its page
TEXTS_OF_PAGE = ("page__text", "page__unseen")  # of rows with a page: long, and seldom needed


class Source(ReadText):
    """A passage of a page, about 500 to 1,500 words, from which chunks are cut."""

    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="sources")
    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="sources")
    ordinal = models.PositiveIntegerField(help_text="Within its artifact, counted from 0.")
    start = models.PositiveIntegerField(help_text="First character, in its page's text.")
    end = models.PositiveIntegerField(help_text="One past the last character.")
    heading = models.CharField(max_length=300, blank=True)

    objects = CurrentManager["Source"]()
    every_reading = ReadTextQuerySet["Source"].as_manager()

    class Meta:
        ordering = ["artifact", "ordinal"]
        constraints = [
            models.UniqueConstraint(
                fields=["artifact", "reading", "ordinal"], name="source_artifact_ordinal"
            ),
        ]

    def __str__(self) -> str:
        return f"source {self.ordinal}"


def _prefetch_sources(reading: int | None) -> "models.Prefetch[Any]":
    rows = Source.objects.all() if reading is None else Source.every_reading.seen_by(reading)
    rows = rows.select_related("page").defer(*TEXTS_OF_PAGE).order_by("ordinal")
    return models.Prefetch("sources", queryset=rows)


def load_sources(artifacts: Sequence[Artifact], reading: int) -> None:
    """Load the sources that a build of this reading sees into artifacts, whose ``sources.all()``
    has these from then on."""
    models.prefetch_related_objects(artifacts, _prefetch_sources(reading))


class RemovedOriginal(models.Model):
    """An original to delete from the storage, unless its document has been given it again."""

    name = models.CharField(max_length=100, primary_key=True)
    artifact_id = models.UUIDField()

    def __str__(self) -> str:
        return self.name


class PendingRevision(models.Model):
    """A revision that the live build may not show yet; its id is the number.

    Deleted once the change or deletion has reached the live build or has failed.
    """

    index_path = "index"

    id = models.BigAutoField(primary_key=True)
    index = models.CharField(max_length=63)
    changed_id = models.UUIDField(
        db_index=True, help_text="Id of the artifact, concept or relationship type."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["index", "id"], name="change_index")]

    def __str__(self) -> str:
        return f"revision {self.pk}"
