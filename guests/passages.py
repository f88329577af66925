"""Searches of guests: the best passages of an index, as the API shows hits, with their links."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from rest_framework.request import Request

from access.authentication import get_grant
from core.admin import AUDITED_TARGETS
from retrieval.hits import get_hit_renderer
from retrieval.request_cache import keep_for_request
from retrieval.search.run import fuse_by_rank
from retrieval.serializers.requests import QuerySerializer
from retrieval.views.searches import enqueue_planning_of_stale_hits

HitContent = Mapping[str, Any]
# A hit, and where what is cited starts and ends in its source -> an address.
MakeLink = Callable[[HitContent, int | None, int | None], str]


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """``score``: the cosine similarity to the query, from 0 to 1; of several, to the nearest."""

    hit: HitContent
    score: float
    url: str


def find_passages(
    request: Request,
    index: str,
    queries: Sequence[str],
    filter: Mapping[str, Any] | None,
    *,
    limit: int,
    min_score: float,
) -> list[FoundPassage]:
    """The best passages for any of the queries, the best first; those below ``min_score`` are left
    out of the best ``limit``. Without stale ones, as the contexts of answers: programs that do not
    know the verdict show them to language models. Raises as a search."""
    from retrieval.retrievers import QueriesRetriever  # imports LlamaIndex

    queries = [QuerySerializer.read({"query": query})["query"] for query in queries]
    retriever = QueriesRetriever(
        index, multiplier=1, limit=limit, filter=filter, stale="omit", grant=get_grant(request)
    )
    with keep_for_request():
        answer = retriever.search_queries(queries)
    note_index(request, index)
    enqueue_planning_of_stale_hits(answer.stale_ids)
    scores: dict[str, float] = {}
    for hit in (hit for ranking in answer.rankings for hit in ranking):
        scores[hit.passage_id] = max(scores.get(hit.passage_id, 0.0), hit.similarity or 0.0)
    link = make_links(request)
    found = []
    for hit in fuse_by_rank(answer.rankings, limit):
        content = get_hit_renderer(hit.payload.get("kind", "chunk"))(hit, "cosine")
        score = round(min(scores[hit.passage_id], 1.0), 6)
        if score >= min_score:
            url = link(content, content["start_offset"], content["end_offset"])
            found.append(FoundPassage(content, score, url))
    return found


def note_index(request: Request | HttpRequest, index: str) -> None:
    """For the row in the audit log; call it with the name of an index that exists."""
    request.META[AUDITED_TARGETS] = [(index, "")]


def make_links(request: Request | HttpRequest) -> MakeLink:
    """Links to the page of a hit's document, on the host that the request names."""
    pages = request.build_absolute_uri(reverse("documents"))

    def link(hit: HitContent, start: int | None, end: int | None) -> str:
        # ``source`` of a question is the name of its file.
        source = hit.get("passage") or hit["source"]
        if isinstance(source, Mapping) and source["id"] and start is not None:
            place = {"source": source["id"], "start": start, "end": end}
        else:
            place = {"page": get_page_number(hit) or 1}
        return f"{pages}{hit['artifact']['id']}/?{urlencode(place)}"

    return link


def get_page_number(hit: HitContent) -> int | None:
    """Counted from 1."""
    index = (hit.get("page") or {}).get("index")
    return None if index is None else index + 1
