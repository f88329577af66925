"""What the stages write to the database: a document and all that is said about its chunks, in
one transaction. A worker that woke in between would ask a language model for what is there.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from core.text import hash_text
from documents.models import Artifact, Source
from documents.originals import FileContent
from documents.parsing import ParsedPage
from documents.services import add_artifact, assign_next_revision, replace_pages
from indexing.kinds.chunk import chunk_id
from indexing.models import IndexBuild
from summaries.models import Annotation, Writing
from summaries.processing.chunks import Place, WrittenChunk
from summaries.services import ROWS_PER_STATEMENT, annotation_values, hash_inputs
from summaries.writers import AnnotationDraft


@dataclass(frozen=True, slots=True)
class TakenDocument:
    """A file as it was read, and its pages as they are to stand in the index."""

    pages: Sequence[ParsedPage]
    title: str
    media_type: str
    encoding: str
    warnings: list[dict[str, str]]


def take_document(
    build: IndexBuild,
    content: FileContent,
    document: TakenDocument,
    cut: Sequence[WrittenChunk],
    chunks: Sequence[WrittenChunk],
    model_name: str,
) -> Artifact:
    """Give the build's index this file, read already, and what is said about its chunks.

    Every chunk that is given becomes a row that no writer touches. So does each of ``cut``, the
    chunks of the recipe, that is left out, with nothing said about it: else a writer would say
    something.

    Raises:
        DiskFull: there is too little room left.
    """
    with transaction.atomic():
        added, _ = add_artifact(build.index_id, content)
        artifact = Artifact.objects.select_for_update().get(pk=added.pk)
        _take_pages(artifact, document)
        artifact.save()  # even unchanged: its receivers wake whoever plans and syncs
        sources = list(artifact.sources.select_related("page").order_by("ordinal"))
        rows = _annotations(build, artifact, sources, cut, chunks, model_name)
        Annotation.objects.filter(build=build, artifact=artifact).delete()
        Annotation.objects.bulk_create(rows, batch_size=ROWS_PER_STATEMENT)
    return artifact


def _take_pages(artifact: Artifact, document: TakenDocument) -> None:
    """Make the artifact parsed, with these pages; what it has already stays."""
    is_parsed = artifact.state == Artifact.State.PARSED
    wanted = [(page.label[:300], page.text) for page in document.pages]
    if is_parsed and list(artifact.pages.values_list("label", "text")) == wanted:
        return
    if is_parsed:
        assign_next_revision(artifact)  # whoever plans by the pages before gives up
    replace_pages(artifact, document.pages)
    artifact.media_type = document.media_type
    artifact.encoding = document.encoding
    artifact.warnings = document.warnings
    if document.title and not artifact.has_user_title:
        artifact.title = document.title
    artifact.state = Artifact.State.PARSED
    artifact.lease_token = artifact.leased_until = None


def _annotations(
    build: IndexBuild,
    artifact: Artifact,
    sources: Sequence[Source],
    cut: Sequence[WrittenChunk],
    chunks: Sequence[WrittenChunk],
    model_name: str,
) -> list[Annotation]:
    occurrences: Counter[tuple[str, str]] = Counter()

    def next_id(chunk: WrittenChunk) -> UUID:
        key = chunk.strategy, hash_text(chunk.text)
        occurrences[key] += 1
        return chunk_id(artifact.pk, *key, occurrences[key])

    # As the recipe counts them; a passage that was cut by hand is counted after its likes.
    ids: dict[Place, UUID] = {chunk.place: next_id(chunk) for chunk in cut}
    given = {chunk.place for chunk in chunks}
    rows = []
    for chunk in [*chunks, *(chunk for chunk in cut if chunk.place not in given)]:
        source = sources[chunk.source_ordinal]
        input_hash = hash_inputs([source.heading, chunk.text])
        draft = AnnotationDraft(chunk.questions, chunk.summary, chunk.fields, model_name)
        rows.append(
            Annotation(
                build=build,
                artifact=artifact,
                chunk_id=ids.get(chunk.place) or next_id(chunk),
                page=source.page,
                source=source,
                source_hash=hash_text(source.text),
                strategy=chunk.strategy,
                chunk_index=chunk.chunk_index,
                start_offset=chunk.start_offset,
                end_offset=chunk.end_offset,
                text=chunk.text,
                heading=source.heading,
                input_hash=input_hash,
                written_hash=input_hash,
                model_name=model_name,
                is_by_hand=True,
                state=Writing.State.WRITTEN,
                written_at=Now(),
                **annotation_values(draft),
            )
        )
    return rows
