"""Indexes as the vector stores of OpenAI: listed, and searched."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.authentication import get_grant
from core.exceptions import UnknownIndex
from guests.conditions import read_openai_filter
from guests.errors import OpenAiView, as_list, read_body
from guests.passages import FoundPassage, find_passages
from indexing.progress import get_index_progress
from retrieval.search.multi_query import MAX_QUERIES

STORE_PARAMS: Final = {"index": "vector_store_id"}
NOT_REWRITTEN: Final = (
    "rewrite_query was ignored: a query is searched by its meaning and its words as it is written."
)


class RankingOptions(BaseModel):
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class SearchBody(BaseModel):
    """Other parameters are ignored."""

    model_config = ConfigDict(strict=True)

    query: Annotated[
        list[str], Field(min_length=1, max_length=MAX_QUERIES), BeforeValidator(as_list)
    ]
    filters: dict[str, Any] | None = None
    max_num_results: Annotated[int, Field(ge=1, le=50)] | None = None
    ranking_options: RankingOptions | None = None
    rewrite_query: bool | None = None


class VectorStoreListView(OpenAiView):
    def get(self, request: Request) -> Response:
        stores = [_render_store(index) for index in get_index_progress(grant=get_grant(request))]
        ends = [store["id"] for store in (stores[:1] + stores[-1:])] or [None]
        return Response(
            {
                "object": "list",
                "data": stores,
                "first_id": ends[0],
                "last_id": ends[-1],
                "has_more": False,
            }
        )


class VectorStoreView(OpenAiView):
    params = STORE_PARAMS

    def get(self, request: Request, index: str) -> Response:
        found = get_index_progress(index, get_grant(request))
        if not found:
            raise UnknownIndex.named(index, [])
        return Response(_render_store(found[0]))


def _render_store(index: strata_types.Index) -> dict[str, Any]:
    waiting, failed = index["artifacts_waiting"], index["artifacts_failed"]
    return {
        "id": index["name"],
        "object": "vector_store",
        "created_at": 0,
        "name": index["title"] or index["name"],
        "status": "in_progress" if waiting or index["nodes"]["pending"] else "completed",
        "usage_bytes": 0,
        "file_counts": {
            "in_progress": waiting,
            "completed": max(index["artifacts"] - waiting - failed, 0),
            "failed": failed,
            "cancelled": 0,
            "total": index["artifacts"],
        },
        "last_active_at": None,
        "metadata": {},
    }


class VectorStoreSearchView(OpenAiView):
    params = {**STORE_PARAMS, "filter": "filters", "limit": "max_num_results"}

    def post(self, request: Request, index: str) -> Response:
        asked = read_body(SearchBody, request.data)
        options = asked.ranking_options or RankingOptions()
        found = find_passages(
            request,
            index,
            asked.query,
            read_openai_filter(asked.filters),
            limit=asked.max_num_results or 10,
            min_score=options.score_threshold or 0.0,
        )
        answer = {
            "object": "vector_store.search_results.page",
            "search_query": asked.query,
            "data": [_render_passage(each) for each in found],
            "has_more": False,
            "next_page": None,
        }
        return Response(answer | ({"notes": [NOT_REWRITTEN]} if asked.rewrite_query else {}))


def _render_passage(passage: FoundPassage) -> dict[str, Any]:
    """``url`` and ``verdict`` are Strata's own."""
    hit = passage.hit
    artifact = hit["artifact"]
    return {
        "file_id": artifact["id"],
        "filename": artifact["file_name"] or artifact["title"],
        "score": passage.score,
        "attributes": {name: _flatten(value) for name, value in hit["metadata"].items()},
        "content": [{"type": "text", "text": hit["text"]}],
        "url": passage.url,
        "verdict": hit["verdict"],
    }


def _flatten(value: Any) -> Any:
    """Attributes of OpenAI have one value."""
    return ", ".join(map(str, value)) if isinstance(value, list) else value
