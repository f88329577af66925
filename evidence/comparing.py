"""Whether two findings say the same.

A finding is as similar to another as its least similar chunk is: it says nothing new where each of
its chunks has a twin in the other. For findings of one chunk, and most are, that is the cosine of
the two.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from documents.models import Artifact, Page, Source
from documents.services import TextContent
from documents.sources import split_into_sources
from evidence.models import RecentEvidence, Vectors
from indexing import embedding
from indexing.chunking import embedded_text
from indexing.kinds.chunk import draft_chunks
from indexing.models import IndexBuild
from indexing.spec import IndexSpec
from indexing.stores import Match, Query, ScoredPoint, get_store

CANDIDATES = 20  # of one chunk; each above the threshold, of which no two should be


@dataclass(frozen=True, slots=True)
class Twin:
    artifact_id: UUID
    similarity: float  # cosine


def name_space(spec: IndexSpec) -> str:
    """The same for recipes whose vectors compare chunk by chunk."""
    said = [spec.embedding.model_dump(mode="json"), spec.chunks.model_dump(mode="json")]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def embed_contents(contents: Sequence[tuple[str, TextContent]], build: IndexBuild) -> list[Vectors]:
    """What the build would embed of each title and content: (chunks, dimension), unit vectors.

    Raises:
        EmbeddingUnavailable, ModelUnavailable: retry helps.
        Uncuttable: a single character exceeds the model's window.
    """
    drafts = []
    for title, content in contents:
        artifact = Artifact(index=build.index_id, title=title)
        sources = [
            Source(
                artifact=artifact,
                page=Page(artifact=artifact, index=index),
                text=text[span.start : span.end],
                heading=(span.heading or "")[:300],
            )
            for index, text in enumerate(content.pages)
            for span in split_into_sources(text)
        ]
        drafts.append(_draft_texts(artifact, sources, build))
    return _embed(drafts, build)


def embed_artifact(artifact: Artifact, build: IndexBuild) -> Vectors:
    """As ``embed_contents``, of an artifact that is stored."""
    [vectors] = _embed([_draft_texts(artifact, artifact.sources.all(), build)], build)
    return vectors


def _draft_texts(artifact: Artifact, sources: Iterable[Source], build: IndexBuild) -> list[str]:
    """Of one strategy: another's chunks would say the same once more."""
    strategy = build.spec.chunks.strategies[0].name
    drafts = draft_chunks(artifact, sources, build)
    return [embedded_text(each.context, each.text) for each in drafts if each.strategy == strategy]


def _embed(drafts: Sequence[Sequence[str]], build: IndexBuild) -> list[Vectors]:
    texts = [text for each in drafts for text in each]
    vectors = embedding.get_embedder(build.spec.embedding).embed_documents(texts)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    ends = np.cumsum([len(each) for each in drafts])
    return np.split(vectors, ends[:-1])


class Known:
    """All findings of an index that others are compared with: those the vector store holds, and
    those that were given since. Only as long as no one else adds any."""

    def __init__(self, build: IndexBuild, threshold: float) -> None:
        self._build = build
        self._threshold = threshold
        self._recent = _Stacked(_read_recent(build))
        self._given: dict[UUID, Vectors] = {}  # since then
        self._gone: set[UUID] = set()  # since then
        self._stored: list[list[dict[UUID, float]]] = []

    def look_up(self, findings: Sequence[Vectors]) -> None:
        """Ask the vector store for the twins of all these at once; ``find_twin`` goes by their
        positions."""
        spec = self._build.spec
        collection = self._build.collection("chunk")
        of_strategy = Match("strategy", (spec.chunks.strategies[0].name,))
        requests = [
            (
                collection,
                Query(
                    dense=vector, filter=of_strategy, limit=CANDIDATES, min_score=self._threshold
                ),
            )
            for vectors in findings
            for vector in vectors
        ]
        answers = iter(get_store().search_many(requests))
        found = [[_best_by_artifact(next(answers)) for _ in vectors] for vectors in findings]
        candidates = {pk for chunks in found for scores in chunks for pk in scores}
        # A point outlives its artifact for a moment, and what it said before an edit.
        standing = set(
            Artifact.objects.filter(index=self._build.index_id, pk__in=candidates)
            .exclude(pk__in=self._recent.artifact_ids & candidates)
            .values_list("pk", flat=True)
        )
        self._stored = [
            [{pk: score for pk, score in scores.items() if pk in standing} for scores in chunks]
            for chunks in found
        ]

    def find_same(self, content: TextContent) -> Twin | None:
        """The same to the letter."""
        alike = Artifact.objects.filter(index=self._build.index_id, sha256=content.sha256)
        artifact_id = alike.order_by("created_at").values_list("pk", flat=True).first()
        return None if artifact_id is None else Twin(artifact_id, 1.0)

    def find_twin(self, position: int, vectors: Vectors) -> Twin | None:
        """The finding most similar to this one, where it reaches the threshold."""
        similarities = self._recent.compare(vectors)
        chunks = self._stored[position]
        for pk in set.intersection(*(set(scores) for scores in chunks)):
            similarities[pk] = min(scores[pk] for scores in chunks)
        for pk, theirs in self._given.items():
            similarities[pk] = float((theirs @ vectors.T).max(axis=0).min())
        alike = [
            (score, pk)
            for pk, score in similarities.items()
            if score >= self._threshold and pk not in self._gone
        ]
        if not alike:
            return None
        similarity, artifact_id = max(alike)
        return Twin(artifact_id, min(similarity, 1.0))

    def add(self, artifact_id: UUID, vectors: Vectors) -> None:
        """A finding that is stored from now on, in place of what it was before."""
        self.forget(artifact_id)
        self._gone.discard(artifact_id)
        self._given[artifact_id] = vectors

    def forget(self, artifact_id: UUID) -> None:
        """Compare with this finding no more."""
        self._gone.add(artifact_id)
        self._given.pop(artifact_id, None)
        for chunks in self._stored:
            for scores in chunks:
                scores.pop(artifact_id, None)


class _Stacked:
    """Findings in one matrix, for one multiplication to compare with all."""

    def __init__(self, findings: dict[UUID, Vectors]) -> None:
        self.artifact_ids = findings.keys()
        self._vectors = np.vstack(list(findings.values())) if findings else None
        counts = [len(vectors) for vectors in findings.values()]
        self._starts = np.cumsum([0, *counts[:-1]])

    def compare(self, vectors: Vectors) -> dict[UUID, float]:
        if self._vectors is None:
            return {}
        cosines = self._vectors @ vectors.T  # (their chunks, its chunks)
        best = np.maximum.reduceat(cosines, self._starts, axis=0)
        return dict(zip(self.artifact_ids, best.min(axis=1).tolist(), strict=True))


def _best_by_artifact(points: Sequence[ScoredPoint]) -> dict[UUID, float]:
    best: dict[UUID, float] = {}
    for point in points:
        best.setdefault(UUID(point.payload["artifact_id"]), point.score)
    return best


def _read_recent(build: IndexBuild) -> dict[UUID, Vectors]:
    space = name_space(build.spec)
    findings = {}
    rows = RecentEvidence.objects.filter(artifact__index=build.index_id)
    for row in rows.select_related("artifact").order_by("pk"):
        if row.space == space:
            findings[row.pk] = row.read_vectors()
        else:  # another build answers since
            findings[row.pk] = embed_artifact(row.artifact, build)
    return {pk: vectors for pk, vectors in findings.items() if len(vectors)}
