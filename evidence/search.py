"""Searches evidence by meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Prefetch

from access.grants import EVERYTHING, Grant
from documents.models import Artifact, Page
from evidence.duplicates import StoredFinding
from evidence.links import read_references, read_similar_findings
from evidence.models import EvidenceReference
from evidence.services import find_evidence_build, make_external_id
from retrieval.event_loop import run_in_thread
from retrieval.filters import MAX_CONDITIONS
from retrieval.search import Mode, SearchAnswer

MAX_URLS = MAX_CONDITIONS


@dataclass(frozen=True, slots=True)
class EvidenceSearchAnswer:
    """A search answer, and by artifact id the findings of its hits, except those deleted
    meanwhile; their repeats, oldest first; and the findings linked with them, most similar
    first."""

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
    grant: Grant = EVERYTHING,
) -> EvidenceSearchAnswer:
    """Find the findings most similar to ``query``, each once, best first; ``score`` is the cosine
    of the best chunk.

    ``excluded_urls``: findings to leave out, such as those a keyword search returned.

    Raises:
        UnknownIndex, InvalidInput: as ``add_evidence``; also for a wrong parameter.
        NotYetIndexed: ``min_revision`` was not reached in time.
        EmbeddingUnavailable, StoreUnavailable: retry helps.
    """
    find_evidence_build(index)
    excluded_ids = sorted({make_external_id(url) for url in excluded_urls})
    from retrieval.retrievers import ChunkRetriever  # imports LlamaIndex

    retriever = ChunkRetriever(
        index,
        grant=grant,
        group_by="artifact",
        mode=Mode.DENSE,
        limit=limit,
        min_score=min_similarity,
        min_revision=min_revision,
        filter={"not": {"external_id": excluded_ids}} if excluded_ids else None,
    )
    answer = retriever.search(query)
    artifact_ids = [UUID(hit.payload["artifact_id"]) for hit in answer.hits]
    pages = Prefetch("pages", Page.objects.order_by("index"))
    return EvidenceSearchAnswer(
        answer,
        Artifact.objects.prefetch_related(pages).in_bulk(artifact_ids),
        read_references(artifact_ids, grant),
        read_similar_findings(artifact_ids, grant),
    )


async def afind_similar_evidence(index: str, query: str, **options: Any) -> EvidenceSearchAnswer:
    """``find_similar_evidence`` in a thread, for callers in an event loop."""
    return await run_in_thread(find_similar_evidence, index, query, **options)
