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
    render_chunk,
    render_hierarchical_answer,
    render_image_answer,
    render_question,
    render_search_answer,
    render_structure_answer,
    render_summary,
)
from retrieval.serializers.requests import (
    read_hierarchical_request,
    read_image_request,
    read_search_request,
    read_structure_request,
    read_summary_request,
)
from retrieval.tools import prepare_tool_call


@dataclass(frozen=True, slots=True)
class SearchResponse:
    content: dict[str, Any]
    stale_artifact_ids: Iterable[UUID]  # the caller enqueues planning for them


def answer_page_search(parameters: Any) -> SearchResponse:
    answer = search_chunks(read_search_request(parameters))
    return SearchResponse(render_search_answer(answer, render_chunk), answer.stale_artifact_ids)


def answer_summary_search(parameters: Any) -> SearchResponse:
    answer = search_summaries(*read_summary_request(parameters))
    return SearchResponse(render_search_answer(answer, render_summary), answer.stale_artifact_ids)


def answer_question_search(parameters: Any) -> SearchResponse:
    answer = search_questions(read_search_request(parameters))
    return SearchResponse(render_search_answer(answer, render_question), answer.stale_artifact_ids)


def answer_hierarchical_search(parameters: Any) -> SearchResponse:
    answer = search_hierarchical(read_hierarchical_request(parameters))
    return SearchResponse(render_hierarchical_answer(answer), answer.stale_artifact_ids)


def answer_structure_search(parameters: Any) -> SearchResponse:
    answer = search_structures(*read_structure_request(parameters))
    return SearchResponse(render_structure_answer(answer), answer.stale_artifact_ids)


def answer_image_search(parameters: Any) -> SearchResponse:
    request, with_text = read_image_request(parameters)
    answer = search_images(request, with_text=with_text)
    return SearchResponse(render_image_answer(answer), answer.stale_artifact_ids)


def answer_tool_call(index: str, name: str, arguments: Any) -> SearchResponse:
    call = prepare_tool_call(index, name, arguments)
    answer = call.search()
    render_hit = render_question if call.is_question_search else render_chunk
    return SearchResponse(render_search_answer(answer, render_hit), answer.stale_artifact_ids)


# Keys: the last segment of the URL, /search/<kind>.
ANSWER_BY_SEARCH_KIND: dict[str, Callable[[Any], SearchResponse]] = {
    "pages": answer_page_search,
    "summaries": answer_summary_search,
    "questions": answer_question_search,
    "hierarchical": answer_hierarchical_search,
    "structures": answer_structure_search,
    "images": answer_image_search,
}
