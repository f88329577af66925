"""Answers a search: API parameters in, API answer out, with or without HTTP."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from retrieval.search import (
    search_chunks,
    search_hierarchical,
    search_images,
    search_questions,
    search_structures,
    search_summaries,
)
from retrieval.serializers.answers import (
    render_answer,
    render_chunk,
    render_hierarchy,
    render_images,
    render_question,
    render_structures,
    render_summary,
)
from retrieval.serializers.requests import (
    read_hierarchical_request,
    read_image_request,
    read_search_request,
    read_structure_request,
    read_summary_request,
)
from retrieval.tools import call_tool


@dataclass(frozen=True, slots=True)
class SearchResponse:
    content: dict[str, Any]
    stale_artifact_ids: Iterable[UUID]  # for the caller to have indexed again


def answer_pages(parameters: Any) -> SearchResponse:
    answer = search_chunks(read_search_request(parameters))
    return SearchResponse(render_answer(answer, render_chunk), answer.stale_artifact_ids)


def answer_summaries(parameters: Any) -> SearchResponse:
    answer = search_summaries(*read_summary_request(parameters))
    return SearchResponse(render_answer(answer, render_summary), answer.stale_artifact_ids)


def answer_questions(parameters: Any) -> SearchResponse:
    answer = search_questions(read_search_request(parameters))
    return SearchResponse(render_answer(answer, render_question), answer.stale_artifact_ids)


def answer_hierarchical(parameters: Any) -> SearchResponse:
    answer = search_hierarchical(read_hierarchical_request(parameters))
    return SearchResponse(render_hierarchy(answer), answer.stale_artifact_ids)


def answer_structures(parameters: Any) -> SearchResponse:
    answer = search_structures(*read_structure_request(parameters))
    return SearchResponse(render_structures(answer), answer.stale_artifact_ids)


def answer_images(parameters: Any) -> SearchResponse:
    request, with_text = read_image_request(parameters)
    answer = search_images(request, with_text=with_text)
    return SearchResponse(render_images(answer), answer.stale_artifact_ids)


def answer_tool(index: str, name: str, arguments: Any) -> SearchResponse:
    call = call_tool(index, name, arguments)
    answer = call.search()
    render_hit = render_question if call.is_of_questions else render_chunk
    return SearchResponse(render_answer(answer, render_hit), answer.stale_artifact_ids)


# By the last part of their addresses.
SEARCH_BY_KIND: dict[str, Callable[[Any], SearchResponse]] = {
    "pages": answer_pages,
    "summaries": answer_summaries,
    "questions": answer_questions,
    "hierarchical": answer_hierarchical,
    "structures": answer_structures,
    "images": answer_images,
}
