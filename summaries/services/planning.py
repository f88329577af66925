"""Plan what must be written about a document: make its rows agree with its current text.

Rows are written without signals, because signals mean edits and would plan the document again.
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from core.leases import describe_error
from core.text import hash_text
from documents.exceptions import Unparsable
from documents.models import Artifact, Page
from documents.reading import mark_artifact_failed
from indexing.drafting.chunk import DraftedChunk, draft_chunks
from indexing.exceptions import UnchunkableText
from indexing.hooks import Boundaries
from indexing.models import IndexBuild
from indexing.services.rereading import drop_reading
from summaries.models import (
    EMPTY_TEXT_HASH,
    Annotation,
    Segmentation,
    Summary,
    WrittenText,
    due_field_values,
)
from summaries.reuse import (
    REUSED_SUMMARY_FIELDS,
    reuse_annotations,
    reuse_artifact_summary,
    reuse_page_summaries,
)
from summaries.segmenting import can_be_cut
from summaries.services.rows import (
    ROWS_PER_STATEMENT,
    annotation_field_values,
    get_page_summary_texts,
    hash_inputs,
    make_due,
)
from summaries.writers import AnnotationDraft

_DUE_FIELDS = list(due_field_values())
_LOCATION_FIELDS = [
    "page", "source", "source_hash", "strategy", "chunk_index", "start_offset", "end_offset",
    "heading",
]  # fmt: skip


def plan_written_texts(artifact_id: UUID, build: IndexBuild) -> None:
    """Create and update the summary, annotation and segmentation rows of one artifact, to match its
    current pages and sources. Annotations of chunks that a language model must cut wait for it.

    Texts stay if their input has not changed; texts by hand always stay. An artifact that is not
    parsed yet is skipped.

    Raises:
        EmbeddingUnavailable, ModelUnavailable: the chunks could not be cut; retry.
    """
    spec = build.spec
    if not spec.has_generated_texts:
        return
    artifacts = Artifact.objects.filter(
        pk=artifact_id, index=build.index_id, state=Artifact.State.PARSED
    )
    artifact = artifacts.with_sources(build.reading).first()
    if artifact is None:
        return
    if spec.chunks.llm is not None and not _plan_segmentations(artifact, build):
        return  # the change has enqueued planning again
    drafts = None
    if spec.questions is not None and _needs_annotations(artifact, build):
        try:
            drafts = draft_annotations(artifact, build)
        except UnchunkableText as error:
            # A retry would fail too, so the error is shown on the document.
            if not drop_reading(build, artifact_id, describe_error(error)):
                mark_artifact_failed(artifact, Unparsable(error.code, error.detail))
            return
    with transaction.atomic():
        current = artifacts.select_for_update().first()
        if current is None or current.revision != artifact.revision:
            return  # the change has enqueued planning again
        if spec.page_summaries is not None:
            _plan_page_summaries(current, build)
        if spec.artifact_summaries is not None:
            _plan_artifact_summary(current, build)
        if drafts is not None:
            _save_annotations(current, build, drafts)
        if spec.questions is not None:
            _normalise_fields(current, build)


def _plan_segmentations(artifact: Artifact, build: IndexBuild) -> bool:
    """Return whether the artifact is still the same."""
    strategy = build.spec.chunks.llm
    assert strategy is not None
    hashes = {
        source.pk: hash_text(source.text)
        for source in artifact.sources.all()
        if can_be_cut(source.text, strategy)
    }
    with transaction.atomic():
        unchanged = Artifact.objects.filter(pk=artifact.pk, revision=artifact.revision)
        if unchanged.select_for_update().first() is None:
            return False
        rows = Segmentation.objects.filter(build=build, artifact=artifact)
        rows.exclude(source__in=hashes).delete()
        changed = [row for row in rows if row.input_hash != hashes[row.source_id]]
        for row in changed:
            row.input_hash = hashes[row.source_id]
            make_due(row)
        Segmentation.objects.bulk_update(
            changed, [*_DUE_FIELDS, "input_hash"], batch_size=ROWS_PER_STATEMENT
        )
        planned = set(rows.values_list("source", flat=True))
        Segmentation.objects.bulk_create(
            [
                Segmentation(build=build, artifact=artifact, source_id=pk, input_hash=input_hash)
                for pk, input_hash in hashes.items()
                if pk not in planned
            ],
            batch_size=ROWS_PER_STATEMENT,
        )
    return True


def _plan_page_summaries(artifact: Artifact, build: IndexBuild) -> None:
    rows = {
        row.page_id: row
        for row in Summary.objects.of_pages().filter(build=build, artifact=artifact).defer("text")
    }
    new, changed = [], []
    for page in Page.every_reading.seen_by(build.reading).filter(artifact=artifact):
        input_hash = hash_text(page.text)
        # The page is older than the hash column, or was changed in SQL.
        if page.content_hash != input_hash:
            Page.every_reading.filter(pk=page.pk).update(content_hash=input_hash)
        row = rows.get(page.pk)
        if row is not None and row.input_hash == input_hash:
            continue
        if row is None:
            row = Summary(build=build, artifact=artifact, page=page)
            new.append(row)
        else:
            changed.append(row)
        row.input_hash = input_hash
        if not row.is_by_hand:
            make_due(row)
            if not page.text.strip():  # a blank page has an empty summary
                row.state, row.written_input_hash = WrittenText.State.WRITTEN, input_hash
                row.text, row.text_hash = "", EMPTY_TEXT_HASH
    reuse_page_summaries(build, [row for row in new if row.state == WrittenText.State.DUE])
    for row in (*new, *changed):
        if row.is_deleted:  # nothing is missing, so the artifact's summary is not stale
            row.written_input_hash = row.input_hash
    Summary.objects.bulk_create(new, batch_size=ROWS_PER_STATEMENT, ignore_conflicts=True)
    blanked = [
        row for row in changed if row.state == WrittenText.State.WRITTEN and not row.is_by_hand
    ]
    Summary.objects.bulk_update(
        changed, [*_DUE_FIELDS, "input_hash", "written_input_hash"], batch_size=ROWS_PER_STATEMENT
    )
    Summary.objects.bulk_update(blanked, ["text", "text_hash"], batch_size=ROWS_PER_STATEMENT)


def _plan_artifact_summary(artifact: Artifact, build: IndexBuild) -> None:
    """Make the artifact's summary due if its page summaries have changed and none is due."""
    mine = Summary.objects.of_artifacts().filter(build=build, artifact=artifact)
    row = mine.first()
    is_new = row is None
    if row is None:
        row = Summary(build=build, artifact=artifact)
        Summary.objects.bulk_create([row])
    input_hash = hash_inputs(get_page_summary_texts(row))
    due_page_summaries = Summary.objects.of_pages().filter(
        build=build, artifact=artifact, state=WrittenText.State.DUE
    )
    if row.input_hash != input_hash and not row.is_by_hand and not due_page_summaries.exists():
        row.input_hash = input_hash
        make_due(row)
        Summary.objects.bulk_update([row], [*_DUE_FIELDS, "input_hash"])
    if is_new and reuse_artifact_summary(build, row):
        Summary.objects.bulk_update([row], REUSED_SUMMARY_FIELDS)


def _needs_annotations(artifact: Artifact, build: IndexBuild) -> bool:
    if build.spec.chunks.llm is None:
        return not _has_current_annotations(artifact, build)
    # Other boundaries make other chunks of the same sources.
    due = Segmentation.objects.filter(build=build, artifact=artifact, state=WrittenText.State.DUE)
    return not due.exists()


def _has_current_annotations(artifact: Artifact, build: IndexBuild) -> bool:
    """Whether the annotations' chunks were cut from the current sources."""
    cut = Annotation.objects.filter(build=build, artifact=artifact)
    from_sources = set(cut.values_list("source_id", "source_hash", "heading"))
    return from_sources == {
        (source.pk, hash_text(source.text), source.heading) for source in artifact.sources.all()
    }


def _normalise_fields(artifact: Artifact, build: IndexBuild) -> None:
    """Write the values of declared fields as the spec does now: synonyms may have been declared
    since."""
    rows = Annotation.objects.filter(build=build, artifact=artifact).exclude(written_input_hash="")
    for row in rows.exclude(fields={}):
        fields = build.spec.normalise_metadata(row.fields)
        if fields != row.fields:
            draft = AnnotationDraft(
                row.questions, row.summary, fields, row.model_name, row.dropped_value_count
            )
            unchanged = Annotation.objects.filter(pk=row.pk, output_hash=row.output_hash)
            unchanged.update(**annotation_field_values(draft))


def draft_annotations(
    artifact: Artifact, build: IndexBuild, boundaries: Boundaries | None = None
) -> list[Annotation]:
    """Make one unsaved annotation for each chunk of the recipe, even if chunks are not embedded.
    ``boundaries``: as those of ``draft_chunks``."""
    chunks = draft_chunks(artifact, artifact.sources.all(), build, boundaries=boundaries)
    return [make_annotation(artifact, build, chunk) for chunk in chunks]


def make_annotation(artifact: Artifact, build: IndexBuild, chunk: DraftedChunk) -> Annotation:
    """Make the unsaved annotation of a chunk, which is due."""
    return Annotation(
        build=build,
        artifact=artifact,
        chunk_id=chunk.id,
        page=chunk.source.page,
        source=chunk.source,
        source_hash=chunk.source_hash,
        strategy=chunk.strategy,
        chunk_index=chunk.index,
        start_offset=chunk.start,
        end_offset=chunk.end,
        text=chunk.text,
        heading=chunk.source.heading,
        input_hash=hash_inputs([chunk.source.heading, chunk.text]),
    )


def _save_annotations(artifact: Artifact, build: IndexBuild, drafts: Sequence[Annotation]) -> None:
    rows = Annotation.objects.filter(build=build, artifact=artifact)
    existing = {row.chunk_id: row for row in rows.defer("text", "questions", "fields")}
    vanished = existing.keys() - {draft.chunk_id for draft in drafts}
    rows.filter(chunk_id__in=vanished).delete()
    new, updated = [], []
    for draft in drafts:
        row = existing.get(draft.chunk_id)
        if row is None:
            new.append(draft)
            continue
        for name in _LOCATION_FIELDS:
            setattr(row, name, getattr(draft, name))
        if row.input_hash != draft.input_hash:
            row.input_hash = draft.input_hash
            if not row.is_by_hand:
                make_due(row)
        updated.append(row)
    reuse_annotations(build, new)
    Annotation.objects.bulk_create(new, batch_size=ROWS_PER_STATEMENT)
    Annotation.objects.bulk_update(
        updated, [*_LOCATION_FIELDS, *_DUE_FIELDS, "input_hash"], batch_size=ROWS_PER_STATEMENT
    )
