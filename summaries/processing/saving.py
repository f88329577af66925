"""Save a document and the annotations of its chunks to the database in one transaction, so that no
worker starts in between and calls a language model for annotations that already exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now

from core.text import hash_text
from documents.models import Artifact, Source
from documents.originals import FileContent
from documents.parsing import ParsedPage
from documents.services import add_artifact, assign_next_revision, replace_pages
from indexing.models import IndexBuild
from summaries.models import Annotation, WrittenText
from summaries.processing.chunks import AnnotatedChunk, make_chunk_ids
from summaries.services import ROWS_PER_STATEMENT, annotation_field_values, hash_inputs
from summaries.writers import AnnotationDraft


@dataclass(frozen=True, slots=True)
class DocumentToSave:
    """The document to save: its pages and what the parser reported about its file."""

    pages: Sequence[ParsedPage]
    title: str
    media_type: str
    encoding: str
    warnings: list[dict[str, str]]


def save_document(
    build: IndexBuild,
    content: FileContent,
    document: DocumentToSave,
    recipe_chunks: Sequence[AnnotatedChunk],
    annotated_chunks: Sequence[AnnotatedChunk],
    model_name: str,
) -> Artifact:
    """Save a parsed file and the annotations of its chunks in the build's index.

    Every annotated chunk becomes a row by hand, which no writer changes. Chunks of the recipe
    that were left out become empty rows without a writer, so that no search finds them.

    Raises:
        DiskFull: there is too little room left.
    """
    with transaction.atomic():
        added, _ = add_artifact(build.index_id, content)
        artifact = Artifact.objects.select_for_update().get(pk=added.pk)
        _save_pages(artifact, document)
        artifact.save()  # even if unchanged: its receivers enqueue planning and syncing
        sources = list(artifact.sources.select_related("page").order_by("ordinal"))
        rows = _make_annotations(
            build, artifact, sources, recipe_chunks, annotated_chunks, model_name
        )
        Annotation.objects.filter(build=build, artifact=artifact).delete()
        Annotation.objects.bulk_create(rows, batch_size=ROWS_PER_STATEMENT)
    return artifact


def _save_pages(artifact: Artifact, document: DocumentToSave) -> None:
    """Set the artifact's pages and mark it parsed, unless it has these pages already."""
    is_parsed = artifact.state == Artifact.State.PARSED
    new_pages = [(page.label[:300], page.text) for page in document.pages]
    if is_parsed and list(artifact.pages.values_list("label", "text")) == new_pages:
        return
    if is_parsed:
        assign_next_revision(artifact)  # so that planning from the old pages is abandoned
    replace_pages(artifact, document.pages)
    artifact.media_type = document.media_type
    artifact.encoding = document.encoding
    artifact.warnings = document.warnings
    if document.title and not artifact.has_user_title:
        artifact.title = document.title
    artifact.state = Artifact.State.PARSED
    artifact.lease_token = artifact.leased_until = None


def _make_annotations(
    build: IndexBuild,
    artifact: Artifact,
    sources: Sequence[Source],
    recipe_chunks: Sequence[AnnotatedChunk],
    annotated_chunks: Sequence[AnnotatedChunk],
    model_name: str,
) -> list[Annotation]:
    given = {each.id: each for each in annotated_chunks}
    rows = []
    ids = make_chunk_ids(artifact.pk, recipe_chunks)
    for each, chunk_id in zip(recipe_chunks, ids, strict=True):
        chunk, annotated = each.chunk, given.get(each.id, each)
        writer = model_name if each.id in given else ""
        source = sources[chunk.source.ordinal]
        input_hash = hash_inputs([source.heading, chunk.text])
        draft = AnnotationDraft(annotated.questions, annotated.summary, annotated.fields, writer)
        rows.append(
            Annotation(
                build=build,
                artifact=artifact,
                chunk_id=chunk_id,
                page=source.page,
                source=source,
                source_hash=hash_text(source.text),
                strategy=chunk.strategy,
                chunk_index=chunk.index,
                start_offset=chunk.start,
                end_offset=chunk.end,
                text=chunk.text,
                heading=source.heading,
                input_hash=input_hash,
                written_input_hash=input_hash,
                model_name=writer,
                is_by_hand=True,
                state=WrittenText.State.WRITTEN,
                written_at=Now(),
                **annotation_field_values(draft),
            )
        )
    return rows
