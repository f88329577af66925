"""Finds similar findings by their vectors, and duplicates among them by ``wording.py``, unless the
spec says otherwise.

For each chunk of a finding, the best cosine with the chunks of the other finding is computed; the
lowest of these is the similarity. Most findings have one chunk: their similarity is the cosine.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from access.grants import Grant
from documents.groups import covers_groups, is_visible
from documents.models import Artifact, Page, Source
from documents.pages import cut_pages
from documents.parsing import ParsedPage
from documents.services import TextContent
from evidence.models import RecentEvidence, Vectors
from evidence.spec import EvidenceSpec
from evidence.wording import has_same_words
from indexing import embedding
from indexing.contexts import embed_in_context
from indexing.drafting.chunk import DraftedChunk, draft_chunks
from indexing.embedding.vectors import normalise
from indexing.models import IndexBuild
from indexing.reuse import keep_vectors
from indexing.spec import IndexSpec
from indexing.stores import Match, Query, ScoredPoint
from retrieval.visible_points import VisiblePoints

CANDIDATES_PER_CHUNK = 100  # many findings may differ from a chunk only in a number


@dataclass(frozen=True, slots=True)
class StoredFinding:
    artifact_id: UUID
    similarity: float  # cosine to the finding to be added


@dataclass(frozen=True, slots=True)
class NearFindings:
    """``all``: the duplicate too, most similar first."""

    duplicate: StoredFinding | None
    all: Sequence[StoredFinding]


def hash_vector_space(spec: IndexSpec) -> str:
    """Hash of the embedding and chunk settings; vectors are comparable only if it is equal."""
    settings = [spec.embedding.model_dump(mode="json"), spec.chunks.model_dump(mode="json")]
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def embed_contents(contents: Sequence[tuple[str, TextContent]], build: IndexBuild) -> list[Vectors]:
    """Embed the chunks of each title and content: unit vectors, (chunks, dimension) each.

    Raises:
        EmbeddingUnavailable, ModelUnavailable: retry helps.
        UnchunkableText: a single character exceeds the model's window.
    """
    drafts = []
    for title, content in contents:
        artifact = Artifact(index=build.index_id, title=title)
        _, sources = cut_pages(artifact, [ParsedPage(text) for text in content.pages])
        drafts.append(_draft_chunks(artifact, sources, build))
    return _embed(drafts, build)


def embed_artifact(artifact: Artifact, build: IndexBuild) -> Vectors:
    """As ``embed_contents``, for a stored artifact."""
    [vectors] = _embed([_draft_chunks(artifact, artifact.sources.all(), build)], build)
    return vectors


def _draft_chunks(
    artifact: Artifact, sources: Iterable[Source], build: IndexBuild
) -> list[DraftedChunk]:
    """Those of the first strategy only: other strategies split the same text again."""
    strategy = build.spec.chunks.strategies[0].key
    drafts = draft_chunks(artifact, sources, build)
    return [each for each in drafts if each.strategy == strategy]


def _embed(drafts: Sequence[Sequence[DraftedChunk]], build: IndexBuild) -> list[Vectors]:
    texts = [text for each in drafts for text in each]
    vectors = embed_in_context(embedding.get_embedder(build.spec.embedding), texts)
    keep_vectors(build.spec.embedding, texts, list(vectors))
    vectors = normalise(vectors)
    ends = np.cumsum([len(each) for each in drafts])
    return np.split(vectors, ends[:-1])


def join_pages(pages: Iterable[str]) -> str:
    return "\n\n".join(pages)


def compare(finding: Vectors, other: Vectors) -> float:
    """The similarity of two findings."""
    return float((other @ finding.T).max(axis=0).min())


class DuplicateFinder:
    """Finds duplicates among the visible findings of an index: those in the vector store and those
    added since. Valid only while no other process adds findings."""

    def __init__(self, build: IndexBuild, threshold: float, grant: Grant) -> None:
        self.build = build
        self.grant = grant
        self._groups = sorted(grant.groups or ())  # of the findings to be added
        self._threshold = threshold
        section = EvidenceSpec.of(build.spec)
        self._ignores_words = section is not None and section.duplicates == "similarity"
        self.read_recent()
        self._outdated_ids: set[UUID] = set()  # of the store: removed or changed since the search
        self._near_in_store: list[dict[UUID, float]] = []  # for each finding to be added

    def read_recent(self) -> None:
        """Read again which findings the vector store may not hold yet."""
        space = hash_vector_space(self.build.spec)
        of_index = RecentEvidence.objects.filter(artifact__index=self.build.index_id)
        rows = of_index.filter(is_visible(self.grant, "artifact__"))
        found = {
            row.pk: row.read_vectors()
            if row.vector_space_hash == space
            else embed_artifact(row.artifact, self.build)  # another build has become live
            for row in rows.select_related("artifact").order_by("pk")
        }
        self._recent = {pk: vectors for pk, vectors in found.items() if len(vectors)}
        self._stacked: Vectors | None = None

    def search_store(self, findings: Sequence[Vectors]) -> None:
        """Search the vector store for duplicates of all these findings at once;
        ``find_near`` refers to them by position."""
        spec = self.build.spec
        collection = self.build.collection("chunk")
        of_strategy = Match("strategy", (spec.chunks.strategies[0].key,))
        requests = [
            (
                collection,
                Query(
                    dense=vector,
                    filter=of_strategy,
                    limit=CANDIDATES_PER_CHUNK,
                    min_score=self._threshold,
                    is_exact=True,
                ),
            )
            for vectors in findings
            for vector in vectors
        ]
        answers = iter(VisiblePoints(self.grant).search_many(requests))
        found: list[dict[UUID, float]] = []
        for vectors in findings:
            chunks = [_best_by_artifact(next(answers)) for _ in vectors]
            near_all_chunks = set.intersection(*map(set, chunks))
            found.append({pk: min(scores[pk] for scores in chunks) for pk in near_all_chunks})
        candidates = {pk for scores in found for pk in scores}
        # A point may exist for a short time after its artifact was deleted or changed.
        current_ids = set(
            Artifact.objects.visible_to(self.grant)
            .filter(index=self.build.index_id, pk__in=candidates)
            .exclude(pk__in=self._recent.keys() & candidates)
            .values_list("pk", flat=True)
        )
        self._near_in_store = [
            {pk: score for pk, score in scores.items() if pk in current_ids} for scores in found
        ]

    def find_exact_duplicate(self, content: TextContent) -> StoredFinding | None:
        """A stored finding with exactly the same text."""
        visible = Artifact.objects.visible_to(self.grant)
        alike = visible.filter(index=self.build.index_id, sha256=content.sha256)
        for artifact_id, groups in alike.order_by("created_at").values_list("pk", "groups"):
            if covers_groups(groups, self._groups):
                return StoredFinding(artifact_id, 1.0)
        return None

    def find_near(self, position: int, content: TextContent, vectors: Vectors) -> NearFindings:
        """The findings from the threshold on. A duplicate has the same words, unless the spec goes
        by similarity alone: then it is the nearest."""
        in_store = self._near_in_store[position]
        for pk in self._outdated_ids:
            in_store.pop(pk, None)
        similarities = in_store | self._compare_recent(vectors)
        near = {
            pk: StoredFinding(pk, min(score, 1.0))
            for pk, score in similarities.items()
            if score >= self._threshold
        }
        texts = self._read_texts(near)
        text = join_pages(content.pages)
        ordered = sorted(near.values(), key=lambda each: each.similarity, reverse=True)
        repeated = (
            each
            for each in ordered
            if each.artifact_id in texts
            and (self._ignores_words or has_same_words(text, texts[each.artifact_id]))
        )
        return NearFindings(next(repeated, None), ordered)

    def _compare_recent(self, vectors: Vectors) -> dict[UUID, float]:
        """By one multiplication with the stacked vectors of all recent findings."""
        counts = [len(each) for each in self._recent.values()]
        if not counts:
            return {}
        if self._stacked is None:
            self._stacked = np.vstack(list(self._recent.values()))
        cosines = self._stacked @ vectors.T  # (their chunks, its chunks)
        best = np.maximum.reduceat(cosines, np.cumsum([0, *counts[:-1]]), axis=0)
        return dict(zip(self._recent, best.min(axis=1).tolist(), strict=True))

    def _read_texts(self, artifact_ids: Collection[UUID]) -> dict[UUID, str]:
        """The texts of those findings that everyone sees who will see the new ones."""
        pages = Page.objects.filter(artifact__in=list(artifact_ids)).order_by("index")
        texts: dict[UUID, list[str]] = {}
        for pk, groups, text in pages.values_list("artifact", "artifact__groups", "text"):
            if covers_groups(groups, self._groups):
                texts.setdefault(pk, []).append(text)
        return {pk: join_pages(each) for pk, each in texts.items()}

    def add(self, artifact_id: UUID, vectors: Vectors) -> None:
        """Add a finding, or replace its earlier vectors."""
        self.remove(artifact_id)
        self._recent[artifact_id] = vectors

    def remove(self, artifact_id: UUID) -> None:
        """Exclude a finding from all further comparisons."""
        self._outdated_ids.add(artifact_id)
        self._recent.pop(artifact_id, None)
        self._stacked = None


def _best_by_artifact(points: Sequence[ScoredPoint]) -> dict[UUID, float]:
    return {UUID(point.payload["artifact_id"]): point.score for point in reversed(points)}
