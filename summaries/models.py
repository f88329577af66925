"""Models of the texts written about documents: summaries, the questions each chunk answers, and
where sources are cut into chunks.

The rows are the work queue, as in the ledger: a row is due until its text is written.
"""

from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q

from core.leases import FRESH, LeasedQuerySet, LeasedRow, index_of_leases
from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.models import IndexBuild

EMPTY_TEXT_HASH = hash_text("")  # lets a query find empty texts without reading them
EXTRACTIVE_MODEL_NAME = "extractive"  # model_name of texts that rules wrote


class WrittenText(LeasedRow):
    """A text that a writer (a language model or rules) or a person writes for one build."""

    index_path = "build__index"

    class State(models.TextChoices):
        DUE = "due"
        WRITTEN = "written"
        FAILED = "failed"

    build = models.ForeignKey(IndexBuild, on_delete=models.CASCADE, related_name="+")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="+")
    input_hash = models.CharField(max_length=64, help_text="SHA-256 of the input to write it from.")
    written_input_hash = models.CharField(
        max_length=64, blank=True, help_text="Hash of the input it was last written from."
    )
    model_name = models.CharField(max_length=200, blank=True)
    is_by_hand = models.BooleanField(default=False)
    is_cache_bypassed = models.BooleanField(
        default=False, editable=False, help_text="Do not reuse a stored completion."
    )
    state = models.CharField(max_length=7, choices=State, default=State.DUE)
    written_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


# Texts that a language model could not write: missing, or written by rules in its place.
NOT_WRITTEN_BY_MODEL = Q(state=WrittenText.State.FAILED) | (
    Q(state=WrittenText.State.WRITTEN, model_name=EXTRACTIVE_MODEL_NAME) & ~Q(last_error="")
)


def due_field_values(*, is_cache_bypassed: bool = False) -> dict[str, Any]:
    """Field values that make rows due and release them from any worker that holds them. With
    ``is_cache_bypassed``, texts by hand are overwritten and stored completions are not reused."""
    values = {"state": WrittenText.State.DUE, **FRESH}
    return (
        values | {"is_by_hand": False, "is_cache_bypassed": True} if is_cache_bypassed else values
    )


class SummaryQuerySet(LeasedQuerySet["Summary"]):
    def of_pages(self) -> "SummaryQuerySet":
        return self.filter(page__isnull=False)

    def of_artifacts(self) -> "SummaryQuerySet":
        return self.filter(page__isnull=True)

    def not_empty(self) -> "SummaryQuerySet":
        """Summaries whose text is not empty."""
        return self.exclude(text_hash__in=["", EMPTY_TEXT_HASH])


class Summary(WrittenText):
    """The summary of a page; or, without a page, of an artifact, written from its page summaries.

    A page's input is its text, so ``input_hash`` is the page's ``content_hash``.
    """

    page = models.ForeignKey(Page, null=True, on_delete=models.CASCADE, related_name="+")
    text = models.TextField(blank=True)
    text_hash = models.CharField(max_length=64, blank=True, editable=False)
    citations = models.JSONField(
        default=list,
        help_text="Sentences taken from the text: page index, first and one past last character.",
    )

    objects = SummaryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "summaries"
        constraints = [
            models.UniqueConstraint(
                fields=["build", "page"], condition=Q(page__isnull=False), name="summary_page"
            ),
            models.UniqueConstraint(
                fields=["build", "artifact"],
                condition=Q(page__isnull=True),
                name="summary_artifact",
            ),
        ]
        indexes = [
            index_of_leases("summary_leased"),
            models.Index(fields=["artifact", "build", "state"], name="summary_of_artifact"),
            models.Index(fields=["build", "state"], name="summary_due", condition=Q(state="due")),
        ]

    def __str__(self) -> str:
        return f"summary of {'page' if self.page_id else 'artifact'} {self.entity_id}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.text_hash = hash_text(self.text)
        update_fields = kwargs.get("update_fields")
        if update_fields is not None:
            kwargs["update_fields"] = {*update_fields, "text_hash"}
        super().save(*args, **kwargs)

    @property
    def entity_id(self) -> UUID:
        """The id of the page or artifact summarised, and of the point that holds the summary."""
        return self.page_id or self.artifact_id

    @property
    def is_deleted(self) -> bool:
        """Whether a person deleted it; writers leave it alone."""
        return self.is_by_hand and self.text_hash == EMPTY_TEXT_HASH

    @property
    def kind(self) -> str:
        return "page_summary" if self.page_id else "artifact_summary"


class Annotation(WrittenText):
    """A chunk, with the questions it answers, its one-line summary and its declared fields."""

    chunk_id = models.UUIDField(help_text="The point id the chunk has, or would have.")
    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="+")
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+")
    source_hash = models.CharField(max_length=64, help_text="Of the source it was cut from.")
    strategy = models.CharField(max_length=64)
    chunk_index = models.PositiveIntegerField()
    start_offset = models.PositiveIntegerField()
    end_offset = models.PositiveIntegerField()
    text = models.TextField()
    heading = models.CharField(max_length=300, blank=True)
    questions = models.JSONField(default=list, blank=True)
    summary = models.CharField(max_length=1_000, blank=True)
    fields = models.JSONField(default=dict, blank=True)
    output_hash = models.CharField(max_length=64, blank=True, editable=False)
    dropped_value_count = models.PositiveIntegerField(
        default=0, help_text="Values outside their closed lists that the writer gave."
    )

    objects = LeasedQuerySet["Annotation"].as_manager()

    class Meta:
        verbose_name = "chunk with questions"
        verbose_name_plural = "chunks with questions"
        constraints = [
            models.UniqueConstraint(fields=["build", "chunk_id"], name="annotation_chunk")
        ]
        indexes = [
            index_of_leases("annotation_leased"),
            models.Index(fields=["artifact", "build", "state"], name="annotation_of_artifact"),
            models.Index(
                fields=["build", "state"], name="annotation_due", condition=Q(state="due")
            ),
            models.Index(fields=["build", "source"], name="annotation_source"),
        ]

    @property
    def searched_texts(self) -> list[str]:
        """The texts by which the chunk is found: its questions, or its own text if it has none. A
        chunk that a person left out of ``chunks.json`` has no model name, and is not found."""
        questions = list(dict.fromkeys(self.questions))
        return questions or ([self.text] if self.model_name else [])

    def __str__(self) -> str:
        return f"annotation of chunk {self.chunk_id}"


class Segmentation(WrittenText):
    """Where a language model cuts a source into chunks. The boundaries hold for the text whose hash
    is ``written_input_hash``; without any, the source is cut by sentences."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+")
    boundaries = models.JSONField(
        default=list,
        help_text="Offsets in the source at which a new topic begins, in rising order.",
    )

    objects = LeasedQuerySet["Segmentation"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["build", "source"], name="segmentation_source")
        ]
        indexes = [
            index_of_leases("segmentation_leased"),
            models.Index(fields=["artifact", "build", "state"], name="segmentation_of_artifact"),
            models.Index(
                fields=["build", "state"], name="segmentation_due", condition=Q(state="due")
            ),
        ]

    def __str__(self) -> str:
        return f"segmentation of source {self.source_id}"


class StoredCompletion(models.Model):
    """A cached completion of a language model, so that no identical call is paid twice. Without a
    document, as for a file that ``process`` inspects, it is kept for a day."""

    index_path = "artifact__index"

    key = models.CharField(
        max_length=64, primary_key=True, help_text="SHA-256 of input, prompt, schema and model."
    )
    # The first document it was made for, and goes with: another one of the same text asks again.
    artifact = models.ForeignKey(Artifact, null=True, on_delete=models.CASCADE, related_name="+")
    model_name = models.CharField(max_length=200)
    content = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key


class BuildLanguageModelCost(models.Model):
    """The total cost of one build's language model calls so far."""

    index_path = "build__index"

    build = models.OneToOneField(
        IndexBuild, on_delete=models.CASCADE, primary_key=True, related_name="spending"
    )
    call_count = models.PositiveBigIntegerField(default=0)
    reused_count = models.PositiveBigIntegerField(default=0, help_text="Answers kept from before.")
    failure_count = models.PositiveBigIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "spendings"

    def __str__(self) -> str:
        return f"{self.build}: {self.call_count} calls"
