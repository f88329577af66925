"""Searches evidence by meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Prefetch

from access.grants import EVERYTHING, Grant
from documents.models import Artifact, Page
from evidence.duplicates import StoredFinding
from evidence.models import EvidenceReference
from evidence.references import read_references
from evidence.services import find_evidence_build, make_external_id
from evidence.similar import read_similar_findings
from retrieval.event_loop import run_in_thread
from retrieval.filters import MAX_CONDITIONS
from retrieval.search import Hit, Mode, SearchAnswer

MAX_URLS = MAX_CONDITIONS


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding, read from the database."""

    url: str
    title: str
    content: str
    citation: dict[str, Any]  # source, date and authors, if given
    references: Sequence[EvidenceReference] = ()  # repeats of it, oldest first
    similar: Sequence[StoredFinding] = ()  # near it, and say something else; most similar first


@dataclass(frozen=True, slots=True)
class EvidenceSearchAnswer:
    """A search answer and its findings by artifact id; a hit whose artifact was deleted meanwhile
    has none."""

    answer: SearchAnswer
    evidence: dict[UUID, Evidence]

    def get_evidence(self, hit: Hit) -> Evidence | None:
        return self.evidence.get(UUID(hit.payload["artifact_id"]))


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
    return EvidenceSearchAnswer(
        answer, _read_evidence([UUID(hit.payload["artifact_id"]) for hit in answer.hits], grant)
    )


async def afind_similar_evidence(index: str, query: str, **options: Any) -> EvidenceSearchAnswer:
    """``find_similar_evidence`` in a thread, for callers in an event loop."""
    return await run_in_thread(find_similar_evidence, index, query, **options)


def _read_evidence(artifact_ids: Sequence[UUID], grant: Grant) -> dict[UUID, Evidence]:
    references = read_references(artifact_ids, grant)
    similar = read_similar_findings(artifact_ids, grant)
    pages = Prefetch("pages", Page.objects.order_by("index"))
    artifacts = Artifact.objects.filter(pk__in=artifact_ids).prefetch_related(pages)
    return {
        artifact.pk: Evidence(
            artifact.url,
            artifact.title,
            "\n\n".join(page.text for page in artifact.pages.all()),
            artifact.metadata,
            references.get(artifact.pk, ()),
            similar.get(artifact.pk, ()),
        )
        for artifact in artifacts
    }
