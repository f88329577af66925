"""The node kinds ``page_summary``, ``artifact_summary`` and ``question``."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing import embedding
from indexing.chunking import fit_context, prepend_context
from indexing.kinds.chunk import declared_field_payload, passage_payload
from indexing.kinds.registry import Condition
from indexing.models import IndexBuild, Node
from indexing.spec import IndexSpec
from indexing.stores.base import Payload
from summaries.models import EMPTY_TEXT_HASH, Annotation, Summary, WrittenText, due_field_values


class _SummaryKind:
    """Base class of the two summary kinds."""

    name: str
    is_of_page: bool
    payload_fields: Mapping[str, str] = {"type": "keyword", "entity_id": "keyword"}
    regeneration_type = "summary"

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        summaries = Summary.objects.filter(
            build=build, artifact=artifact, page__isnull=not self.is_of_page
        ).not_empty()
        nodes = [
            Node(
                build=build,
                kind=self.name,
                point_id=summary.entity_id,
                artifact=artifact,
                page=summary.page,
                text=summary.text,
                text_hash=summary.text_hash,
                source_hash=summary.written_input_hash,
                details={"model_name": summary.model_name},
            )
            for summary in summaries.select_related("page")
            .defer("page__text")
            .order_by("page__index")
        ]
        return set_context_and_token_count(nodes, artifact.title, build)

    def get_input_version(self, artifact: UUID, build: IndexBuild) -> object:
        mine = Summary.objects.filter(page__isnull=not self.is_of_page, build=build)
        values = mine.filter(artifact=artifact).not_empty()
        return set(values.values_list("pk", "text_hash", "written_input_hash", "model_name"))

    def payload(self, node: Node) -> Payload:
        artifact, page = node.artifact, node.page
        return declared_field_payload(node) | {
            "kind": self.name,
            "type": self.name,
            "entity_id": str(node.point_id),
            "artifact_id": str(node.artifact_id),
            "artifact_title": artifact.title,
            "external_id": artifact.external_id,
            "media_type": artifact.media_type,
            "page_id": str(node.page_id) if node.page_id else None,
            "page_index": page.index if page else None,
            "summary_text": node.text,
            "text_hash": node.text_hash,
            "source_hash": node.source_hash,
            "model_name": node.details["model_name"],
            "date_embedded": node.embedded_at.isoformat().replace("+00:00", "Z")
            if node.embedded_at
            else None,
            "metadata": artifact.metadata,
        }

    def is_unplanned(self, builds: Sequence[int]) -> Condition:
        """Matches summaries of both kinds: with a condition for each kind, a database without
        statistics would scan all pages of the build for each artifact."""
        planned = Node.objects.filter(
            build=OuterRef("build"),
            point_id=Coalesce(OuterRef("page"), OuterRef("artifact")),
            text_hash=OuterRef("text_hash"),
            source_hash=OuterRef("written_input_hash"),
            attributes_hash=OuterRef("artifact__attributes_hash"),
        ).exclude(state=Node.State.DELETING)
        written = Summary.objects.filter(build__in=builds, artifact=OuterRef("pk")).not_empty()
        return Exists(written.filter(~Exists(planned)))

    def has_failed_input(self, builds: Sequence[int]) -> Condition:
        mine = Summary.objects.filter(page__isnull=not self.is_of_page, build__in=builds)
        return Exists(mine.filter(artifact=OuterRef("pk"), state=WrittenText.State.FAILED))

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        mine = Summary.objects.filter(page__isnull=not self.is_of_page, build=build)
        # The summary of a blank page is empty and has no model name.
        not_blank = mine.exclude(state=WrittenText.State.WRITTEN, model_name="")
        return _make_rows_due(not_blank.filter(artifact=artifact), only_failed)


class PageSummaryKind(_SummaryKind):
    name = "page_summary"
    is_of_page = True

    def has_unwritten_input(self, builds: Sequence[int]) -> Condition:
        due = Summary.objects.filter(
            build__in=builds, artifact=OuterRef("pk"), state=WrittenText.State.DUE
        )
        known = Summary.objects.filter(
            build__in=builds, page=OuterRef("pk"), input_hash=OuterRef("content_hash")
        )
        pages = Page.objects.filter(~Exists(known), artifact=OuterRef("pk"))
        unknown = pages.exclude(content_hash=EMPTY_TEXT_HASH)
        return Q(Exists(due)) | Q(Exists(unknown))


class ArtifactSummaryKind(_SummaryKind):
    name = "artifact_summary"
    is_of_page = False

    def payload(self, node: Node) -> Payload:
        return super().payload(node) | {"page_count": node.details["page_count"]}

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        nodes = super().draft(artifact, build)
        for node in nodes:
            node.details["page_count"] = artifact.pages.count()
        return nodes

    def has_unwritten_input(self, builds: Sequence[int]) -> Condition:
        mine = Summary.objects.of_artifacts().filter(build__in=builds, artifact=OuterRef("pk"))
        return Exists(mine.filter(state=WrittenText.State.DUE))


class QuestionKind:
    name = "question"
    payload_fields: Mapping[str, str] = {"chunk_id": "keyword"}
    regeneration_type = "question"

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        """Make one node for each question, with the offsets of the chunk that answers it."""
        annotations = (
            Annotation.objects.filter(build=build, artifact=artifact)
            .exclude(written_input_hash="")
            .select_related("page", "source")
            .defer("page__text", "source__text")
            .order_by("source__ordinal", "strategy", "chunk_index")
        )
        nodes = [
            Node(
                build=build,
                kind=self.name,
                point_id=uuid.uuid5(annotation.chunk_id, f"question {question}"),
                artifact=artifact,
                page=annotation.page,
                source=annotation.source,
                strategy=annotation.strategy,
                chunk_index=annotation.chunk_index,
                start_offset=annotation.start_offset,
                end_offset=annotation.end_offset,
                text=question,
                text_hash=hash_text(question),
                source_hash=annotation.source_hash,
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
            for annotation in annotations
            for question in dict.fromkeys(annotation.questions)
        ]
        return set_context_and_token_count(nodes, "", build)

    def get_input_version(self, artifact: UUID, build: IndexBuild) -> object:
        written = Annotation.objects.filter(build=build, artifact=artifact)
        return set(
            written.exclude(written_input_hash="").values_list(
                "chunk_id", "source", "source_hash", "strategy", "chunk_index", "start_offset",
                "end_offset", "output_hash",
            )
        )  # fmt: skip

    def payload(self, node: Node) -> Payload:
        artifact, details = node.artifact, node.details
        return (
            details["fields"]
            | passage_payload(node)
            | {
                "kind": self.name,
                "question": node.text,
                "chunk_text": details["chunk_text"],
                "chunk_hash": hash_text(details["chunk_text"]),
                "chunk_id": details["chunk_id"],
                "source": artifact.file_name or artifact.title,
                "summary": details["summary"],
                "model_name": details["model_name"],
                "annotation_hash": details["annotation_hash"],
            }
        )

    def is_unplanned(self, builds: Sequence[int]) -> Condition:
        written = (
            Annotation.objects.filter(build__in=builds, artifact=OuterRef("pk"))
            .exclude(written_input_hash="")
            .exclude(questions=[])
        )
        nodes = Node.objects.filter(
            build=OuterRef("build"),
            source=OuterRef("source"),
            kind=self.name,
            strategy=OuterRef("strategy"),
            chunk_index=OuterRef("chunk_index"),
            source_hash=OuterRef("source_hash"),
            attributes_hash=OuterRef("artifact__attributes_hash"),
        ).exclude(state=Node.State.DELETING)
        planned = nodes.annotate(
            annotation_hash=KeyTextTransform("annotation_hash", "details")
        ).filter(annotation_hash=OuterRef("output_hash"))
        return Exists(written.filter(~Exists(planned)))

    def has_unwritten_input(self, builds: Sequence[int]) -> Condition:
        due = Annotation.objects.filter(
            build__in=builds, artifact=OuterRef("pk"), state=WrittenText.State.DUE
        )
        cut = Annotation.objects.filter(
            build__in=builds, source=OuterRef("pk"), source_hash=OuterRef("content_hash")
        )
        uncut = Source.objects.filter(~Exists(cut), artifact=OuterRef("pk"))
        return Q(Exists(due)) | Q(Exists(uncut))

    def has_failed_input(self, builds: Sequence[int]) -> Condition:
        mine = Annotation.objects.filter(build__in=builds, artifact=OuterRef("pk"))
        return Exists(mine.filter(state=WrittenText.State.FAILED))

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        return _make_rows_due(
            Annotation.objects.filter(build=build, artifact=artifact), only_failed
        )


def _make_rows_due(rows: QuerySet[Any], only_failed: bool) -> int:
    if only_failed:
        return rows.filter(state=WrittenText.State.FAILED).update(**due_field_values())
    return rows.filter(is_by_hand=False).update(**due_field_values(is_cache_bypassed=True))


def set_context_and_token_count(nodes: list[Node], title: str, build: IndexBuild) -> list[Node]:
    """Set each node's context (the text embedded before its own) and its token count."""
    embedder = embedding.get_embedder(build.spec.embedding)
    context = (
        fit_context(title, build.spec.embedding.window, embedder.count_tokens) if title else ""
    )
    counts = embedder.count_tokens([prepend_context(context, node.text) for node in nodes])
    for node, count in zip(nodes, counts, strict=True):
        node.context, node.token_count = context, count
    return nodes


def merge_metadata_fields(
    spec: IndexSpec, owner_fields: Mapping[str, Any], extracted_fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge a chunk's declared fields: the owner's value takes precedence over the one found in
    the text. Many-valued fields hold both."""
    fields: dict[str, Any] = {}
    for name, field in spec.metadata.items():
        if field.many:
            values = dict.fromkeys([*owner_fields.get(name, []), *extracted_fields.get(name, [])])
            if values:
                fields[name] = list(values)
        elif name in owner_fields or name in extracted_fields:
            fields[name] = owner_fields.get(name, extracted_fields.get(name))
    return fields
