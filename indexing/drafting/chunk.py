"""Drafts chunks: passages cut from an artifact's sources."""

import json
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from core.text import hash_text
from documents.models import Artifact, Source
from indexing import embedding
from indexing.chunking import (
    Table,
    find_continued_header,
    find_tables,
    fit_context,
    prepend_context,
    split_into_chunks,
)
from indexing.drafting.drafter import declared_field_payload, passage_payload
from indexing.hooks import (
    Boundaries,
    get_segmentations,
    read_boundaries,
    read_page_summaries,
)
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload
from indexing.text_nodes import make_text_node

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


# A text up to this length is about its title: see decision 90. About 1,500 words.
SHORT_TEXT_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class DraftedChunk:
    id: UUID  # id of its point
    source: Source
    source_hash: str
    strategy: str
    index: int  # in its source, among chunks of its strategy
    start: int
    end: int
    text: str
    text_hash: str
    context: str
    context_weight: float | None  # as that of ``WeightedContext``
    token_count: int


class ChunkDrafter:
    def draft(self, artifact: Artifact, build: IndexBuild) -> Iterator["TextNode"]:
        summaries = _read_context_summaries([artifact.pk], build)
        return self.make_nodes(artifact, build, summaries.get(artifact.pk, {}))

    def make_nodes(
        self,
        artifact: Artifact,
        build: IndexBuild,
        page_summaries: Mapping[UUID, str],
        boundaries: Boundaries | None = None,
    ) -> Iterator["TextNode"]:
        sources = artifact.sources.all()
        for chunk in draft_chunks(artifact, sources, build, page_summaries, boundaries):
            source = chunk.source
            yield make_text_node(
                kind="chunk",
                point_id=chunk.id,
                artifact_id=artifact.pk,
                page=source.page,
                source=source,
                strategy=chunk.strategy,
                chunk_index=chunk.index,
                start_offset=chunk.start,
                end_offset=chunk.end,
                text=chunk.text,
                context=chunk.context,
                details={"context_weight": chunk.context_weight} if chunk.context_weight else {},
                text_hash=chunk.text_hash,
                source_hash=chunk.source_hash,
                token_count=chunk.token_count,
            )

    def get_input_versions(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, str]:
        """Chunks do not wait for the summaries of their pages: they are searchable without."""
        versions = {
            artifact_id: hash_text(
                json.dumps(sorted((str(pk), text) for pk, text in pages.items()))
            )
            for artifact_id, pages in _read_context_summaries(artifact_ids, build).items()
        }
        for artifact_id, boundaries in read_boundaries(artifact_ids, build).items():
            listed = json.dumps(sorted((key, list(each)) for key, each in boundaries.items()))
            versions[artifact_id] = hash_text(f"{versions.get(artifact_id, '')} {listed}")
        return versions

    def find_unwritten(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        """Those with sources that the language model must still cut; until then they are cut by
        sentences."""
        found = [each.find_unwritten(artifact_ids, build) for each in get_segmentations(build)]
        return set().union(*found)

    def find_unwritable(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        found = [each.find_unwritable(artifact_ids, build) for each in get_segmentations(build)]
        return set().union(*found)

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        return sum(
            each.rewrite_inputs(artifact, build, only_failed=only_failed)
            for each in get_segmentations(build)
        )

    def make_payload(self, node: Node) -> Payload:
        return declared_field_payload(node) | passage_payload(node)


def _read_context_summaries(
    artifact_ids: Collection[UUID], build: IndexBuild
) -> Mapping[UUID, Mapping[UUID, str]]:
    wanted = "summary" in build.spec.chunks.context
    return read_page_summaries(artifact_ids, build) if wanted else {}


def draft_chunks(
    artifact: Artifact,
    sources: Iterable[Source],
    build: IndexBuild,
    page_summaries: Mapping[UUID, str] = {},
    boundaries: Boundaries | None = None,
) -> Iterator[DraftedChunk]:
    """Yield every chunk of these sources for each of the recipe's strategies; neither artifact nor
    sources need be saved. ``page_summaries``: by page, those that are part of contexts.
    ``boundaries``: where a language model cuts; the stored ones if left out.

    A chunk's point id depends on its text, not its place: if an edit only moves a chunk, only its
    payload is written again.

    Raises:
        UnchunkableText: a single character exceeds the model's window.
        EmbeddingUnavailable, ModelUnavailable: tokens could not be counted; retry helps.
    """
    spec = build.spec
    embedder = embedding.get_embedder(spec.embedding)
    count_tokens = embedder.count_tokens
    window = spec.embedding.window
    occurrences: Counter[tuple[str, str]] = Counter()
    sources = list(sources)
    is_long = sum(len(source.text) for source in sources) > SHORT_TEXT_CHARS
    weight = spec.chunks.context_weight if is_long else None
    tables_of_page: dict[UUID, list[Table]] = {}
    if boundaries is None:
        boundaries = read_boundaries([artifact.pk], build).get(artifact.pk, {})
    for source in sources:
        source_hash = hash_text(source.text)
        source_context = fit_chunk_context(artifact, source, build)
        summary = " ".join(page_summaries.get(source.page_id, "").split())
        tables, table_offset = _find_tables(source, build, tables_of_page)
        for strategy in spec.chunks.strategies:
            cut = partial(
                split_into_chunks,
                source.text,
                strategy,
                context=source_context,
                window=window,
                boundaries=boundaries.get(source_hash, ()),
            )
            for chunk in cut(count_tokens=count_tokens, embed=embedder.embed_documents):
                text_hash = hash_text(chunk.text)
                occurrences[strategy.key, text_hash] += 1
                occurrence = occurrences[strategy.key, text_hash]
                context, token_count = source_context, chunk.token_count
                header = find_continued_header(tables, chunk.start + table_offset)
                # Neither decides where chunks are cut, nor so their ids.
                for part in filter(None, [header, summary]):
                    longer = "\n".join(filter(None, [context, part]))
                    longer = fit_context(longer, window, count_tokens)
                    [count] = count_tokens([prepend_context(longer, chunk.text)])
                    if weight is not None or count <= window:
                        context, token_count = longer, count
                yield DraftedChunk(
                    id=make_chunk_id(artifact.pk, strategy.key, text_hash, occurrence),
                    source=source,
                    source_hash=source_hash,
                    strategy=strategy.key,
                    index=chunk.index,
                    start=chunk.start,
                    end=chunk.end,
                    text=chunk.text,
                    text_hash=text_hash,
                    context=context,
                    context_weight=weight if context else None,
                    token_count=token_count,
                )


def make_chunk_id(artifact_id: UUID, strategy: str, text_hash: str, occurrence: int) -> UUID:
    """The point id of a chunk; ``occurrence`` counts equal texts of its artifact, from 1."""
    return uuid.uuid5(artifact_id, f"chunk {strategy} {text_hash} {occurrence}")


def _find_tables(
    source: Source, build: IndexBuild, tables_of_page: dict[UUID, list[Table]]
) -> tuple[list[Table], int]:
    """The tables around the source, if the recipe wants their headers, and the offset of its text
    from theirs: a source that begins with a row may continue a table of its page."""
    if "table" not in build.spec.chunks.context:
        return [], 0
    if not source.start or not source.text.startswith("|"):
        return find_tables(source.text), 0
    if source.page_id not in tables_of_page:
        tables_of_page[source.page_id] = find_tables(source.page.text)
    return tables_of_page[source.page_id], source.start


def fit_chunk_context(artifact: Artifact, source: Source, build: IndexBuild) -> str:
    """The title and heading that all chunks of the source have as context, a line for each, cut to
    fit the window."""
    count_tokens = embedding.get_embedder(build.spec.embedding).count_tokens
    parts = {"title": artifact.title, "heading": source.heading}
    selected = [parts.get(name) for name in build.spec.chunks.context]
    # Leave out a heading that repeats the title: it would waste the window.
    context = "\n".join(dict.fromkeys(part for part in selected if part))
    return fit_context(context, build.spec.embedding.window, count_tokens)
