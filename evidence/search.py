"""Searches findings by meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import Prefetch

from access.grants import EVERYTHING, Grant
from documents.models import Artifact, Page
from evidence.duplicates import StoredFinding
from evidence.links import MAX_SIMILAR, read_references, read_similar_findings
from evidence.models import EvidenceReference
from evidence.services import find_evidence_build, make_external_id
from evidence.spec import EvidenceSpec
from retrieval.event_loop import run_in_thread
from retrieval.filters import MAX_CONDITIONS
from retrieval.search import MAX_LIMIT, Hit, Mode, SearchAnswer

MAX_URLS = MAX_CONDITIONS
# Of a diversified answer. A hit with less than this share of the best score is far from the query:
# it must not push out a near-repeat, which may also be the opposite of a better hit.
MIN_SHARE = 0.5
CANDIDATES_PER_HIT = 10


@dataclass(frozen=True, slots=True)
class EvidenceSearchAnswer:
    """A search answer, and by artifact id the findings of its hits and those linked with them,
    except those deleted meanwhile; the repeats of hits, oldest first; and the findings linked with
    them, most similar first."""

    answer: SearchAnswer
    findings: dict[UUID, Artifact]
    references: dict[UUID, list[EvidenceReference]]
    similar: dict[UUID, list[StoredFinding]]


def find_similar_evidence(
    index: str,
    query: str,
    *,
    limit: int = 10,
    min_similarity: float | None = None,
    min_revision: int | None = None,
    excluded_urls: Sequence[str] = (),
    diversify: bool = False,
    grant: Grant = EVERYTHING,
) -> EvidenceSearchAnswer:
    """Find the findings most similar to ``query``, each once, best first; ``score`` is the cosine
    of the best chunk.

    ``excluded_urls``: findings to leave out, such as those a keyword search returned.
    ``diversify``: a finding that nearly repeats a better hit (linked, at least as similar as the
    spec's threshold) is a hit only if fewer than ``limit`` others have half the score of the best.

    Raises:
        UnknownIndex, InvalidInput: as ``add_evidence``; also for a wrong parameter.
        NotYetIndexed: ``min_revision`` was not reached in time.
        EmbeddingUnavailable, StoreUnavailable: retry helps.
    """
    evidence = EvidenceSpec.of(find_evidence_build(index).spec)
    assert evidence is not None
    excluded_ids = sorted({make_external_id(url) for url in excluded_urls})
    from retrieval.retrievers import ChunkRetriever  # imports LlamaIndex

    retriever = ChunkRetriever(
        index,
        grant=grant,
        group_by="artifact",
        versions="all",
        mode=Mode.DENSE,
        limit=min(limit * CANDIDATES_PER_HIT, MAX_LIMIT) if diversify else limit,
        min_score=min_similarity,
        min_revision=min_revision,
        filter={"not": {"external_id": excluded_ids}} if excluded_ids else None,
    )
    answer = retriever.search(query)
    similar = read_similar_findings([_get_artifact_id(hit) for hit in answer.hits], grant)
    if diversify:
        hits = _choose_different(answer.hits, limit, similar, evidence.threshold)
        answer = replace(answer, hits=hits)
    artifact_ids = [_get_artifact_id(hit) for hit in answer.hits]
    similar = {pk: similar[pk][:MAX_SIMILAR] for pk in artifact_ids if pk in similar}
    linked_ids = {each.artifact_id for linked in similar.values() for each in linked}
    pages = Prefetch("pages", Page.objects.order_by("index"))
    return EvidenceSearchAnswer(
        answer,
        Artifact.objects.prefetch_related(pages).in_bulk({*artifact_ids, *linked_ids}),
        read_references(artifact_ids, grant),
        similar,
    )


def _choose_different(
    hits: Sequence[Hit],
    limit: int,
    similar: Mapping[UUID, Sequence[StoredFinding]],
    threshold: float,
) -> list[Hit]:
    """``limit`` of the hits, best first: those that nearly repeat a chosen one, or are far from the
    query, only if there are too few others."""
    different, others = list[Hit](), list[Hit]()
    repeated_ids: set[UUID] = set()  # the findings that nearly repeat one of ``different``
    for hit in hits:
        artifact_id = _get_artifact_id(hit)
        if artifact_id in repeated_ids or hit.score < MIN_SHARE * hits[0].score:
            others.append(hit)
            continue
        different.append(hit)
        repeated_ids.update(
            each.artifact_id
            for each in similar.get(artifact_id, ())
            if each.similarity >= threshold
        )
    chosen = {_get_artifact_id(hit) for hit in [*different, *others][:limit]}
    return [hit for hit in hits if _get_artifact_id(hit) in chosen]


def _get_artifact_id(hit: Hit) -> UUID:
    return UUID(hit.payload["artifact_id"])


async def afind_similar_evidence(index: str, query: str, **options: Any) -> EvidenceSearchAnswer:
    """``find_similar_evidence`` in a thread, for callers in an event loop."""
    return await run_in_thread(find_similar_evidence, index, query, **options)
