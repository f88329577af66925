"""The kind ``chunk``: passages cut from an artifact's sources."""

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from uuid import UUID

from django.db.models import Exists, OuterRef

from core.text import hash_text
from documents.models import Artifact, Source
from indexing import embedding
from indexing.chunking import fit_context, split_into_chunks
from indexing.kinds.registry import Condition, KindWithoutWrittenInput
from indexing.models import IndexBuild, Node
from indexing.spec import SemanticStrategy
from indexing.stores.base import Payload


class ChunkKind(KindWithoutWrittenInput):
    name = "chunk"
    regeneration_type = "chunk"

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        return draft_chunks(artifact, artifact.sources.all(), build)

    def payload(self, node: Node) -> Payload:
        passage = {"kind": self.name, "text": node.text}
        return declared_field_payload(node) | passage_payload(node) | passage

    def is_unplanned(self, builds: Sequence[int]) -> Condition:
        mirrored = Node.objects.filter(
            build__in=builds,
            source=OuterRef("pk"),
            kind=self.name,
            source_hash=OuterRef("content_hash"),
            attributes_hash=OuterRef("artifact__attributes_hash"),
        ).exclude(state=Node.State.DELETING)
        return Exists(Source.objects.filter(~Exists(mirrored), artifact=OuterRef("pk")))


def draft_chunks(artifact: Artifact, sources: Iterable[Source], build: IndexBuild) -> list[Node]:
    """Every chunk of these sources under each of the recipe's strategies; nothing need be saved.

    A chunk's point id comes from its text, not its place: an edit that moves a chunk leaves its
    point where it is and only its payload is written again.

    Raises:
        UnchunkableText: a single character exceeds the model's window.
        EmbeddingUnavailable, ModelUnavailable: tokens could not be counted; retry.
    """
    spec = build.spec
    embedder = embedding.get_embedder(spec.embedding)
    count_tokens = embedder.count_tokens
    window = spec.embedding.window
    drafts: list[Node] = []
    occurrences: Counter[tuple[str, str]] = Counter()
    for source in sources:
        source_hash = hash_text(source.text)
        context = fit_context(_join_context(artifact, source, build), window, count_tokens)
        for strategy in spec.chunks.strategies:
            embed = None
            if isinstance(strategy, SemanticStrategy):
                embed = embedder.embed_documents
            cut = partial(split_into_chunks, source.text, strategy, context=context, window=window)
            for chunk in cut(count_tokens=count_tokens, embed=embed):
                text_hash = hash_text(chunk.text)
                occurrences[strategy.name, text_hash] += 1
                occurrence = occurrences[strategy.name, text_hash]
                drafts.append(
                    Node(
                        build=build,
                        kind=ChunkKind.name,
                        point_id=make_chunk_id(artifact.pk, strategy.name, text_hash, occurrence),
                        artifact=artifact,
                        page=source.page,
                        source=source,
                        strategy=strategy.name,
                        chunk_index=chunk.index,
                        start_offset=chunk.start,
                        end_offset=chunk.end,
                        text=chunk.text,
                        context=context,
                        text_hash=text_hash,
                        source_hash=source_hash,
                        token_count=chunk.token_count,
                    )
                )
    return drafts


def make_chunk_id(artifact_id: UUID, strategy: str, text_hash: str, occurrence: int) -> UUID:
    """The point id of a chunk; ``occurrence`` counts equal texts of its artifact, from 1."""
    return uuid.uuid5(artifact_id, f"chunk {strategy} {text_hash} {occurrence}")


def passage_payload(node: Node) -> Payload:
    """Where the passage of a node stands, and what proves it: of its document, page and source."""
    page, source = node.page, node.source
    return artifact_payload(node) | {
        "page_id": str(node.page_id),
        "page_index": page.index if page else None,
        "source_id": str(node.source_id),
        "source_ordinal": source.ordinal if source else None,
        "strategy": node.strategy,
        "chunk_index": node.chunk_index,
        "start_offset": node.start_offset,
        "end_offset": node.end_offset,
    }


def artifact_payload(node: Node) -> Payload:
    """Of which artifact a node is, and what proves it."""
    artifact = node.artifact
    return {
        "artifact_id": str(node.artifact_id),
        "artifact_title": artifact.title,
        "external_id": artifact.external_id,
        "media_type": artifact.media_type,
        "text_hash": node.text_hash,
        "source_hash": node.source_hash,
        "metadata": artifact.metadata,
    }


def declared_field_payload(node: Node) -> Payload:
    """The values of the declared fields that the node's artifact has."""
    metadata = node.artifact.metadata
    return {name: metadata[name] for name in node.build.spec.metadata if name in metadata}


def _join_context(artifact: Artifact, source: Source, build: IndexBuild) -> str:
    parts = {"title": artifact.title, "heading": source.heading}
    wanted = [parts[name] for name in build.spec.chunks.context]
    # A heading that repeats the title would only spend the window twice.
    return "\n".join(dict.fromkeys(part for part in wanted if part))
