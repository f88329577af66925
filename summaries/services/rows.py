"""What planning, writing and people do alike to the rows."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from core.text import hash_text
from indexing.models import IndexBuild
from summaries.models import Annotation, Summary, Writing
from summaries.writers import AnnotationDraft

ROWS_PER_STATEMENT = 500

KINDS_OF: dict[type[Writing], tuple[str, ...]] = {
    Summary: ("page_summary", "artifact_summary"),
    Annotation: ("question",),
}


def make_due(row: Writing) -> None:
    row.state, row.attempts, row.last_error = Writing.State.DUE, 0, ""
    row.lease_token = row.leased_until = None


def hash_inputs(texts: Iterable[str]) -> str:
    """SHA-256 of several texts, told apart."""
    return hash_text(json.dumps(list(texts)))


def page_summaries(row: Summary) -> list[str]:
    """What an artifact's summary is made from, in the order of its pages."""
    pages = Summary.objects.of_pages().filter(build=row.build_id, artifact=row.artifact_id)
    return list(pages.with_text().order_by("page__index").values_list("text", flat=True))


def annotation_values(draft: AnnotationDraft) -> dict[str, Any]:
    """What a draft writes to its row; ``output_hash`` tells one from the next."""
    said = [draft.questions, draft.summary, draft.fields, draft.model_name]
    return {
        "questions": draft.questions,
        "summary": draft.summary,
        "fields": draft.fields,
        "dropped_count": draft.dropped_count,
        "output_hash": hash_text(json.dumps(said, sort_keys=True)),
    }


def make_artifact_summary_due(build: IndexBuild, artifact_id: UUID) -> None:
    mine = Summary.objects.of_artifacts().filter(build=build, artifact=artifact_id)
    mine.filter(is_by_hand=False).update(
        state=Writing.State.DUE, attempts=0, last_error="", lease_token=None, leased_until=None
    )
