"""Saves summaries and questions that people write by hand, and deletes summaries."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from core.exceptions import InvalidInput
from core.text import hash_text
from documents.exceptions import UnknownArtifact
from documents.models import Artifact, Page
from documents.services import assign_next_revision
from indexing.models import IndexBuild
from summaries.models import Annotation, Summary, WrittenText
from summaries.services.rows import (
    annotation_field_values,
    get_page_summary_texts,
    hash_inputs,
    make_artifact_summary_due,
    make_due,
)
from summaries.writers import BY_HAND_MODEL_NAME, AnnotationDraft


@transaction.atomic
def edit_summary(
    artifact_id: UUID, page_id: UUID | None, text: str | None, model_name: str = BY_HAND_MODEL_NAME
) -> list[Summary]:
    """Save a page's or an artifact's summary by hand, in every build that has summaries. With
    None, have the summary written again. ``model_name``: what wrote the text.

    The summary is embedded again. A page summary makes its artifact's summary due. The artifact
    gets a new revision.

    Raises:
        UnknownArtifact: there is no such artifact or page.
        InvalidInput: the index makes no such summaries, or the text is blank.
    """
    if text is not None and not text.strip():
        raise InvalidInput("text must not be blank.", field="text")
    return _save_summary(artifact_id, page_id, text, model_name)


@transaction.atomic
def delete_summary(artifact_id: UUID, page_id: UUID | None) -> int:
    """Delete a page's or an artifact's summary in every build; return the artifact's new revision.

    A row without text stays, so that it is not written again until someone asks for it. A page
    summary makes its artifact's summary due.

    Raises:
        UnknownArtifact, InvalidInput: as ``edit_summary``.
    """
    [*_, row] = _save_summary(artifact_id, page_id, "", "")
    return row.artifact.revision


def _save_summary(
    artifact_id: UUID, page_id: UUID | None, text: str | None, model_name: str
) -> list[Summary]:
    artifact = Artifact.objects.select_for_update().filter(pk=artifact_id).first()
    page = None if page_id is None else Page.objects.filter(pk=page_id).first()
    if artifact is None or (page is None and page_id is not None):
        raise UnknownArtifact(field="id")
    kind = "artifact_summary" if page is None else "page_summary"
    builds = [
        build
        for build in IndexBuild.objects.not_retired().filter(index=artifact.index).readable()
        if kind in build.spec.kinds
    ]
    if not builds:
        raise InvalidInput(
            f"The index {artifact.index} has no summaries of "
            f"{'artifacts' if page is None else 'pages'}.",
            fix="Switch the summaries on in its spec.",
        )
    assign_next_revision(artifact)
    Artifact.objects.filter(pk=artifact_id).update(revision=artifact.revision)
    rows = []
    for build in builds:
        seen = Page.every_reading.seen_by(build.reading).filter(artifact=artifact)
        page_of_build = None if page is None else seen.filter(index=page.index).first()
        if page is None or page_of_build is not None:
            rows.append(_edit_summary_in_build(build, artifact, page_of_build, text, model_name))
    return rows


def _edit_summary_in_build(
    build: IndexBuild, artifact: Artifact, page: Page | None, text: str | None, model_name: str
) -> Summary:
    row, _ = Summary.objects.select_for_update().get_or_create(
        build=build, artifact=artifact, page=page
    )
    input_hash = hash_inputs(get_page_summary_texts(row)) if page is None else hash_text(page.text)
    row.input_hash = input_hash
    make_due(row)
    if text is None:
        row.is_by_hand = False
    else:
        row.state, row.is_by_hand, row.model_name = WrittenText.State.WRITTEN, True, model_name
        row.text, row.written_input_hash, row.citations = text.strip(), input_hash, []
        row.written_at = Now()
    row.save()
    row.refresh_from_db()
    if page is not None:
        make_artifact_summary_due(build, artifact.pk)
    return row


@transaction.atomic
def edit_questions(chunk_id: UUID, questions: Sequence[str]) -> list[Annotation]:
    """Save the questions that a chunk answers, in every build that has it; they are embedded again.
    The artifact gets a new revision.

    Raises:
        UnknownArtifact: no build has questions for such a chunk.
    """
    builds = IndexBuild.objects.not_retired()
    rows = list(Annotation.objects.filter(chunk_id=chunk_id, build__in=builds).order_by("build"))
    if not rows:
        raise UnknownArtifact("There is no chunk with this id that has questions.", field="id")
    artifact = Artifact.objects.select_for_update().get(pk=rows[0].artifact_id)
    assign_next_revision(artifact)
    Artifact.objects.filter(pk=artifact.pk).update(revision=artifact.revision)
    for row in rows:
        make_due(row)
        row.state, row.is_by_hand, row.model_name = (
            WrittenText.State.WRITTEN,
            True,
            BY_HAND_MODEL_NAME,
        )
        row.written_input_hash, row.written_at = row.input_hash, timezone.now()
        draft = AnnotationDraft(
            list(dict.fromkeys(questions)), row.summary, row.fields, BY_HAND_MODEL_NAME
        )
        for name, value in annotation_field_values(draft).items():
            setattr(row, name, value)
        row.save()
    return rows
