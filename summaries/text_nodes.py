"""Drafts the nodes of page summaries, artifact summaries and questions, and gives those of chunks
what is written for them: summaries of pages, and where a language model cuts sources."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import F, QuerySet

from core.text import hash_text
from documents.models import TEXTS_OF_PAGE, Artifact, Page
from indexing import embedding
from indexing.chunking import fit_context, prepend_context
from indexing.drafting.chunk import fit_chunk_context
from indexing.drafting.drafter import (
    declared_field_payload,
    page_payload,
    passage_payload,
    to_filter_values,
)
from indexing.models import IndexBuild, Node
from indexing.spec import IndexSpec
from indexing.stores.base import Payload
from indexing.text_nodes import make_text_node
from summaries.models import (
    EXTRACTIVE_MODEL_NAME,
    NOT_WRITTEN_BY_MODEL,
    Annotation,
    Segmentation,
    Summary,
    SummaryQuerySet,
    WrittenText,
    due_field_values,
)

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

State = WrittenText.State


class _WrittenTextDrafter(ABC):
    @abstractmethod
    def _rows(self, artifact_ids: Collection[UUID], build: IndexBuild) -> QuerySet[Any]:
        """The written texts of these artifacts."""

    def find_unwritten(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        rows = self._rows(artifact_ids, build).filter(state=State.DUE)
        return set(rows.values_list("artifact", flat=True))

    def find_unwritable(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        rows = self._rows(artifact_ids, build).filter(NOT_WRITTEN_BY_MODEL)
        return set(rows.values_list("artifact", flat=True))

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        rows = self._rows([artifact], build)
        if only_failed:
            return rows.filter(NOT_WRITTEN_BY_MODEL).update(**due_field_values())
        # The summary of a blank page is empty and has no model name.
        by_writers = rows.filter(is_by_hand=False).exclude(state=State.WRITTEN, model_name="")
        return by_writers.update(**due_field_values(is_cache_bypassed=True))


class _SummaryDrafter(_WrittenTextDrafter):
    kind: str
    is_of_page: bool

    def draft(self, artifact: Artifact, build: IndexBuild) -> list["TextNode"]:
        summaries = self._rows([artifact.pk], build).not_empty()
        rows = summaries.select_related("page").defer(*TEXTS_OF_PAGE).order_by("page__index")
        return self.make_nodes(list(rows), artifact, build)

    def make_nodes(
        self, rows: Sequence[Summary], artifact: Artifact, build: IndexBuild
    ) -> list["TextNode"]:
        context, token_counts = measure_texts([row.text for row in rows], artifact.title, build)
        return [
            make_text_node(
                kind=self.kind,
                point_id=row.entity_id,
                artifact_id=artifact.pk,
                page=row.page,
                text=row.text,
                context=context,
                text_hash=hash_text(row.text),
                source_hash=row.written_input_hash,
                token_count=token_count,
                details=self.describe(row, build),
            )
            for row, token_count in zip(rows, token_counts, strict=True)
        ]

    def describe(self, row: Summary, build: IndexBuild) -> dict[str, Any]:
        """The payload fields of a summary besides its text."""
        return {"model_name": row.model_name}

    def get_input_versions(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, str]:
        return _hash_rows_by_artifact(
            self._rows(artifact_ids, build).not_empty(),
            "pk", "text_hash", "written_input_hash", "model_name",
        )  # fmt: skip

    def _rows(self, artifact_ids: Collection[UUID], build: IndexBuild) -> SummaryQuerySet:
        rows = Summary.objects.filter(build=build, artifact__in=artifact_ids)
        return rows.of_pages() if self.is_of_page else rows.of_artifacts()

    def make_payload(self, node: Node) -> Payload:
        embedded_at = node.embedded_at and node.embedded_at.isoformat().replace("+00:00", "Z")
        return (
            declared_field_payload(node)
            | page_payload(node)
            | {
                "type": self.kind,
                "entity_id": str(node.point_id),
                "date_embedded": embedded_at,
                **node.details,
            }
        )


class PageSummaryDrafter(_SummaryDrafter):
    kind = "page_summary"
    is_of_page = True

    def get_input_versions(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, str]:
        """Include the pages' versions, because a changed page needs a new summary."""
        pages = _hash_rows_by_artifact(
            Page.every_reading.seen_by(build.reading).filter(artifact__in=artifact_ids),
            "pk",
            "content_hash",
        )
        written = super().get_input_versions(artifact_ids, build)
        return {pk: hash_text(f"{each} {written.get(pk, '')}") for pk, each in pages.items()}


class ArtifactSummaryDrafter(_SummaryDrafter):
    kind = "artifact_summary"
    is_of_page = False

    def describe(self, row: Summary, build: IndexBuild) -> dict[str, Any]:
        pages = Page.every_reading.seen_by(build.reading).filter(artifact=row.artifact_id)
        return super().describe(row, build) | {"page_count": pages.count()}


def read_context_summaries(
    artifact_ids: Collection[UUID], build: IndexBuild
) -> dict[UUID, dict[UUID, str]]:
    """Artifact -> page -> the summary that a language model or a person wrote of its current text.
    What rules write only quotes the page."""
    rows = Summary.objects.of_pages().not_empty().exclude(model_name=EXTRACTIVE_MODEL_NAME)
    rows = rows.filter(build=build, artifact__in=artifact_ids, written_input_hash=F("input_hash"))
    found: dict[UUID, dict[UUID, str]] = {}
    for artifact_id, page_id, text in rows.values_list("artifact", "page", "text"):
        found.setdefault(artifact_id, {})[page_id] = text
    return found


class SegmentationReader(_WrittenTextDrafter):
    """Gives ``ChunkDrafter`` the boundaries of chunks."""

    def read_boundaries(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> dict[UUID, dict[str, list[int]]]:
        rows = self._rows(artifact_ids, build).exclude(boundaries=[])
        found: dict[UUID, dict[str, list[int]]] = {}
        for artifact_id, text_hash, boundaries in rows.values_list(
            "artifact", "written_input_hash", "boundaries"
        ):
            found.setdefault(artifact_id, {})[text_hash] = boundaries
        return found

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        rows = self._rows([artifact], build)
        if only_failed:
            rows = rows.filter(NOT_WRITTEN_BY_MODEL)
        return rows.update(**due_field_values(is_cache_bypassed=True))

    def _rows(self, artifact_ids: Collection[UUID], build: IndexBuild) -> QuerySet[Any]:
        return Segmentation.objects.filter(build=build, artifact__in=artifact_ids)


class QuestionDrafter(_WrittenTextDrafter):
    def draft(self, artifact: Artifact, build: IndexBuild) -> list["TextNode"]:
        annotations = (
            Annotation.objects.filter(build=build, artifact=artifact)
            .exclude(written_input_hash="")
            .select_related("page", "source")
            .defer(*TEXTS_OF_PAGE, "source__text")
            .order_by("source__ordinal", "strategy", "chunk_index")
        )
        return self.make_nodes(list(annotations), artifact, build)

    def make_nodes(
        self, annotations: Sequence[Annotation], artifact: Artifact, build: IndexBuild
    ) -> list["TextNode"]:
        """Make one node for each question, with the offsets of the chunk that answers it. A chunk
        without questions gets one node with its own text, embedded like a chunk."""
        fit_context_of = cache(lambda source: fit_chunk_context(artifact, source, build))
        questions = [
            (each, text, "" if each.questions else fit_context_of(each.source))
            for each in annotations
            for text in each.searched_texts
        ]
        token_counts = embedding.get_embedder(build.spec.embedding).count_tokens(
            [prepend_context(context, text) for _, text, context in questions]
        )
        return [
            make_text_node(
                kind="question",
                point_id=uuid.uuid5(annotation.chunk_id, f"question {text}"),
                artifact_id=artifact.pk,
                page=annotation.page,
                source=annotation.source,
                strategy=annotation.strategy,
                chunk_index=annotation.chunk_index,
                start_offset=annotation.start_offset,
                end_offset=annotation.end_offset,
                text=text,
                context=context,
                text_hash=hash_text(text),
                source_hash=annotation.source_hash,
                token_count=token_count,
                details={
                    "chunk_id": str(annotation.chunk_id),
                    "chunk_text": annotation.text,
                    "summary": annotation.summary,
                    "fields": merge_metadata_fields(
                        build.spec, artifact.metadata, annotation.fields
                    ),
                    "model_name": annotation.model_name,
                    "annotation_hash": annotation.output_hash,
                },
            )
            for (annotation, text, context), token_count in zip(
                questions, token_counts, strict=True
            )
        ]

    def find_unwritten(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        """Questions wait for the chunks that a language model cuts."""
        uncut = SegmentationReader().find_unwritten(artifact_ids, build)
        return super().find_unwritten(artifact_ids, build) | uncut

    def get_input_versions(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, str]:
        written = self._rows(artifact_ids, build).exclude(written_input_hash="")
        versions = _hash_rows_by_artifact(
            written,
            "chunk_id", "source", "source_hash", "strategy", "chunk_index", "start_offset",
            "end_offset", "output_hash",
        )  # fmt: skip
        for artifact_id, fields in written.values_list("artifact", "fields"):
            if fields != build.spec.normalise_metadata(fields):
                versions[artifact_id] = "not normal"  # planning normalises them
        return versions

    def _rows(self, artifact_ids: Collection[UUID], build: IndexBuild) -> QuerySet[Any]:
        return Annotation.objects.filter(build=build, artifact__in=artifact_ids)

    def make_payload(self, node: Node) -> Payload:
        artifact, details = node.artifact, node.details
        assert artifact is not None
        return (
            to_filter_values(details["fields"], node.build.spec)
            | passage_payload(node)
            | {
                "chunk_text": details["chunk_text"],
                "chunk_hash": hash_text(details["chunk_text"]),
                "chunk_id": details["chunk_id"],
                "source": artifact.file_name or artifact.title,
                "summary": details["summary"],
                "model_name": details["model_name"],
                "annotation_hash": details["annotation_hash"],
            }
        )


def _hash_rows_by_artifact(rows: QuerySet[Any], *fields: str) -> dict[UUID, str]:
    values: dict[UUID, list[str]] = {}
    for artifact_id, *row in rows.values_list("artifact", *fields):
        values.setdefault(artifact_id, []).append(repr(row))
    return {artifact_id: hash_text("\n".join(sorted(each))) for artifact_id, each in values.items()}


def measure_texts(texts: Sequence[str], title: str, build: IndexBuild) -> tuple[str, list[int]]:
    """Return the title that is embedded before each text, and each text's token count with it."""
    embedder = embedding.get_embedder(build.spec.embedding)
    context = (
        fit_context(title, build.spec.embedding.window, embedder.count_tokens) if title else ""
    )
    return context, embedder.count_tokens([prepend_context(context, text) for text in texts])


def merge_metadata_fields(
    spec: IndexSpec, owner_fields: Mapping[str, Any], extracted_fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge a chunk's declared fields: the owner's value takes precedence over the one found in
    the text. Many-valued fields hold both."""
    fields: dict[str, Any] = {}
    given = (owner_fields, extracted_fields)
    for name, field in spec.metadata.items():
        if field.many:
            if values := list(dict.fromkeys(chain(*(each.get(name) or [] for each in given)))):
                fields[name] = values
        elif values := [each[name] for each in given if each.get(name) is not None]:
            fields[name] = values[0]
    return fields
