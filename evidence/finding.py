"""Finding evidence: what was added, by what it says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Prefetch

from documents.models import Artifact, Page
from evidence.services import find_evidence_build, identify
from retrieval.awaiting import in_thread
from retrieval.filters import MAX_CONDITIONS
from retrieval.search import Hit, Mode, SearchAnswer, SearchRequest, search_artifacts

MAX_URLS = MAX_CONDITIONS


@dataclass(frozen=True, slots=True)
class Evidence:
    """A finding as it stands in the database now."""

    url: str
    title: str
    content: str
    citation: dict[str, Any]  # source, date, authors, as far as they were given


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """``evidence``: by artifact, what the hits are of; a hit whose artifact has gone since has
    none."""

    answer: SearchAnswer
    evidence: dict[UUID, Evidence]

    def evidence_of(self, hit: Hit) -> Evidence | None:
        return self.evidence.get(UUID(hit.payload["artifact_id"]))


def find_similar(
    index: str,
    query: str,
    *,
    limit: int = 10,
    min_similarity: float | None = None,
    min_revision: int | None = None,
    without_urls: Sequence[str] = (),
) -> FoundEvidence:
    """What says the like of ``query``, each finding once, nearest first; ``score`` is the cosine
    of its nearest chunk.

    ``without_urls``: what is at hand already, from a keyword search say.

    Raises:
        UnknownIndex, InvalidInput: as ``add_evidence``; or naming the parameter.
        NotYetIndexed: ``min_revision`` was not reached in time.
        EmbeddingUnavailable, StoreUnavailable: retry helps.
    """
    find_evidence_build(index)
    known = sorted({identify(url) for url in without_urls})
    request = SearchRequest(
        indexes=[index],
        query=query,
        mode=Mode.DENSE,
        limit=limit,
        min_score=min_similarity,
        min_revision=min_revision,
        filter={"not": {"external_id": known}} if known else None,
    )
    answer = search_artifacts(request)
    return FoundEvidence(
        answer, _read_evidence(UUID(hit.payload["artifact_id"]) for hit in answer.hits)
    )


async def afind_similar(index: str, query: str, **options: Any) -> FoundEvidence:
    """``find_similar`` off the event loop."""
    return await in_thread(find_similar, index, query, **options)


def _read_evidence(artifact_ids: Iterable[UUID]) -> dict[UUID, Evidence]:
    pages = Prefetch("pages", Page.objects.order_by("index"))
    artifacts = Artifact.objects.filter(pk__in=list(artifact_ids)).prefetch_related(pages)
    return {
        artifact.pk: Evidence(
            artifact.url,
            artifact.title,
            "\n\n".join(page.text for page in artifact.pages.all()),
            artifact.metadata,
        )
        for artifact in artifacts
    }
