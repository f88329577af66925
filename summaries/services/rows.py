"""Functions on rows that planning, writing and edits by people share."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from core.text import hash_text
from indexing.models import IndexBuild
from indexing.services import make_documents_due
from summaries.models import Annotation, Segmentation, Summary, WrittenText, due_field_values
from summaries.writers import AnnotationDraft

ROWS_PER_STATEMENT = 500

# In the order in which they are written: questions are asked about the chunks of segmentations.
TEXT_MODELS: tuple[type[WrittenText], ...] = (Segmentation, Summary, Annotation)


def make_due(row: WrittenText) -> None:
    for name, value in due_field_values().items():
        setattr(row, name, value)


def make_texts_due(rows: QuerySet[Any], *, is_cache_bypassed: bool = False) -> int:
    """Make these texts due and their documents wait for them; return how many texts. With
    ``is_cache_bypassed``, those by hand are overwritten and stored completions are not reused."""
    with transaction.atomic():
        documents = set(rows.order_by().values_list("build", "artifact").distinct())
        count = rows.update(**due_field_values(is_cache_bypassed=is_cache_bypassed))
        for build_id in {build_id for build_id, _ in documents}:
            make_documents_due([build_id], [each for build, each in documents if build == build_id])
    return count


def hash_inputs(texts: Iterable[str]) -> str:
    """SHA-256 of a list of texts; the boundaries between the texts count."""
    return hash_text(json.dumps(list(texts)))


def get_page_summary_texts(row: Summary) -> list[str]:
    """The page summaries an artifact's summary is made from, in page order."""
    pages = Summary.objects.of_pages().filter(build=row.build_id, artifact=row.artifact_id)
    return list(pages.not_empty().order_by("page__index").values_list("text", flat=True))


def annotation_field_values(draft: AnnotationDraft) -> dict[str, Any]:
    """The field values a draft sets on its row. ``output_hash`` changes with their content."""
    content = [draft.questions, draft.summary, draft.fields, draft.model_name]
    return {
        "questions": draft.questions,
        "summary": draft.summary,
        "fields": draft.fields,
        "dropped_value_count": draft.dropped_value_count,
        "output_hash": hash_text(json.dumps(content, sort_keys=True)),
    }


def make_artifact_summary_due(build: IndexBuild, artifact_id: UUID) -> None:
    mine = Summary.objects.of_artifacts().filter(build=build, artifact=artifact_id)
    mine.filter(is_by_hand=False).update(**due_field_values())
