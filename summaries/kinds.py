"""The kinds ``page_summary``, ``artifact_summary`` and ``question``: nodes of what was written."""

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
from indexing.chunking import embedded_text, fit_context
from indexing.kinds.chunk import declared_fields, passage_place
from indexing.kinds.registry import Condition
from indexing.models import IndexBuild, Node
from indexing.spec import IndexSpec
from indexing.stores.base import Payload
from summaries.models import EMPTY, Annotation, Summary, Writing, due_values


class _SummaryKind:
    """What summaries of pages and of artifacts have in common."""

    name: str
    is_of_page: bool
    payload_fields: Mapping[str, str] = {"type": "keyword", "entity_id": "keyword"}
    regenerated_as = "summary"

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        summaries = Summary.objects.filter(
            build=build, artifact=artifact, page__isnull=not self.is_of_page
        ).with_text()
        nodes = [
            Node(
                build=build,
                kind=self.name,
                point_id=summary.entity_id,
                artifact=artifact,
                page=summary.page,
                text=summary.text,
                text_hash=summary.text_hash,
                source_hash=summary.written_hash,
                details={"model_name": summary.model_name},
            )
            for summary in summaries.select_related("page")
            .defer("page__text")
            .order_by("page__index")
        ]
        return fill_context(nodes, artifact.title, build)

    def made_from(self, artifact: UUID, build: IndexBuild) -> object:
        mine = Summary.objects.filter(page__isnull=not self.is_of_page, build=build)
        values = mine.filter(artifact=artifact).with_text()
        return set(values.values_list("pk", "text_hash", "written_hash", "model_name"))

    def payload(self, node: Node) -> Payload:
        artifact, page = node.artifact, node.page
        return declared_fields(node) | {
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
        """Of summaries of either kind: told apart, a database without statistics would look
        through all pages of the build for each artifact."""
        mirrored = Node.objects.filter(
            build=OuterRef("build"),
            point_id=Coalesce(OuterRef("page"), OuterRef("artifact")),
            text_hash=OuterRef("text_hash"),
            source_hash=OuterRef("written_hash"),
            attributes_hash=OuterRef("artifact__attributes_hash"),
        ).exclude(state=Node.State.DELETING)
        written = Summary.objects.filter(build__in=builds, artifact=OuterRef("pk")).with_text()
        return Exists(written.filter(~Exists(mirrored)))

    def is_refused(self, builds: Sequence[int]) -> Condition:
        mine = Summary.objects.filter(page__isnull=not self.is_of_page, build__in=builds)
        return Exists(mine.filter(artifact=OuterRef("pk"), state=Writing.State.FAILED))

    def write_again(self, artifact: UUID, build: IndexBuild, *, only_refused: bool) -> int:
        mine = Summary.objects.filter(page__isnull=not self.is_of_page, build=build)
        # Written by no one is what says nothing, of an empty page.
        told = mine.exclude(state=Writing.State.WRITTEN, model_name="")
        return _make_due(told.filter(artifact=artifact), only_refused)


class PageSummaryKind(_SummaryKind):
    name = "page_summary"
    is_of_page = True

    def is_awaited(self, builds: Sequence[int]) -> Condition:
        due = Summary.objects.filter(
            build__in=builds, artifact=OuterRef("pk"), state=Writing.State.DUE
        )
        known = Summary.objects.filter(
            build__in=builds, page=OuterRef("pk"), input_hash=OuterRef("content_hash")
        )
        pages = Page.objects.filter(~Exists(known), artifact=OuterRef("pk"))
        unknown = pages.exclude(content_hash=EMPTY)
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

    def is_awaited(self, builds: Sequence[int]) -> Condition:
        mine = Summary.objects.of_artifacts().filter(build__in=builds, artifact=OuterRef("pk"))
        return Exists(mine.filter(state=Writing.State.DUE))


class QuestionKind:
    name = "question"
    payload_fields: Mapping[str, str] = {"chunk_id": "keyword"}
    regenerated_as = "question"

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        """One node for each question; its offsets are those of the chunk that answers it."""
        annotations = (
            Annotation.objects.filter(build=build, artifact=artifact)
            .exclude(written_hash="")
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
                    "fields": merge_fields(build.spec, artifact.metadata, annotation.fields),
                    "model_name": annotation.model_name,
                    "annotation_hash": annotation.output_hash,
                },
            )
            for annotation in annotations
            for question in dict.fromkeys(annotation.questions)
        ]
        return fill_context(nodes, "", build)

    def made_from(self, artifact: UUID, build: IndexBuild) -> object:
        written = Annotation.objects.filter(build=build, artifact=artifact)
        return set(
            written.exclude(written_hash="").values_list(
                "chunk_id", "source", "source_hash", "strategy", "chunk_index", "start_offset",
                "end_offset", "output_hash",
            )
        )  # fmt: skip

    def payload(self, node: Node) -> Payload:
        artifact, details = node.artifact, node.details
        return (
            details["fields"]
            | passage_place(node)
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
            .exclude(written_hash="")
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
        mirrored = nodes.annotate(
            annotation_hash=KeyTextTransform("annotation_hash", "details")
        ).filter(annotation_hash=OuterRef("output_hash"))
        return Exists(written.filter(~Exists(mirrored)))

    def is_awaited(self, builds: Sequence[int]) -> Condition:
        due = Annotation.objects.filter(
            build__in=builds, artifact=OuterRef("pk"), state=Writing.State.DUE
        )
        cut = Annotation.objects.filter(
            build__in=builds, source=OuterRef("pk"), source_hash=OuterRef("content_hash")
        )
        uncut = Source.objects.filter(~Exists(cut), artifact=OuterRef("pk"))
        return Q(Exists(due)) | Q(Exists(uncut))

    def is_refused(self, builds: Sequence[int]) -> Condition:
        mine = Annotation.objects.filter(build__in=builds, artifact=OuterRef("pk"))
        return Exists(mine.filter(state=Writing.State.FAILED))

    def write_again(self, artifact: UUID, build: IndexBuild, *, only_refused: bool) -> int:
        return _make_due(Annotation.objects.filter(build=build, artifact=artifact), only_refused)


def _make_due(rows: QuerySet[Any], only_refused: bool) -> int:
    if only_refused:
        return rows.filter(state=Writing.State.FAILED).update(**due_values())
    return rows.filter(is_by_hand=False).update(**due_values(is_cache_bypassed=True))


def fill_context(nodes: list[Node], title: str, build: IndexBuild) -> list[Node]:
    """Set what is embedded in front of these nodes, and how many tokens they take together."""
    embedder = embedding.get_embedder(build.spec.embedding)
    context = (
        fit_context(title, build.spec.embedding.window, embedder.count_tokens) if title else ""
    )
    counts = embedder.count_tokens([embedded_text(context, node.text) for node in nodes])
    for node, count in zip(nodes, counts, strict=True):
        node.context, node.token_count = context, count
    return nodes


def merge_fields(
    spec: IndexSpec, given: Mapping[str, Any], found: Mapping[str, Any]
) -> dict[str, Any]:
    """The declared fields of a chunk: what was found in it, under what its document's owner
    gave. Many-valued fields hold both."""
    fields: dict[str, Any] = {}
    for name, field in spec.metadata.items():
        if field.many:
            values = dict.fromkeys([*given.get(name, []), *found.get(name, [])])
            if values:
                fields[name] = list(values)
        elif name in given or name in found:
            fields[name] = given.get(name, found.get(name))
    return fields
