"""Dify's API of external knowledge: the passages of an index for a query."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field
from rest_framework.authentication import get_authorization_header
from rest_framework.request import Request
from rest_framework.response import Response

from access.authentication import get_grant
from guests.conditions import Conditions, read_dify_conditions
from guests.errors import GuestView, Name, describe, read_body
from guests.passages import FoundPassage, find_passages, get_page_number
from retrieval.search.request import MAX_LIMIT
from retrieval.search.targets import find_builds

# The codes of Dify; other errors have their status as code.
NO_BEARER: Final = 1001
WRONG_KEY: Final = 1002
UNKNOWN_KNOWLEDGE: Final = 2001


class RetrievalSetting(BaseModel):
    top_k: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 10
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class RetrievalBody(BaseModel):
    """``knowledge_id``: the name of an index. Other parameters are ignored."""

    knowledge_id: Name
    query: str
    retrieval_setting: RetrievalSetting
    metadata_condition: Conditions | None = None


class RetrievalView(GuestView):
    def post(self, request: Request) -> Response:
        asked = read_body(RetrievalBody, request.data)
        index, setting = asked.knowledge_id, asked.retrieval_setting
        build = find_builds([index], get_grant(request))[index]
        found = find_passages(
            request,
            index,
            [asked.query],
            read_dify_conditions(asked.metadata_condition, None if build is None else build.spec),
            limit=setting.top_k,
            min_score=setting.score_threshold or 0.0,
        )
        return Response({"records": [_render_passage(each) for each in found]})

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        status, message = response.status_code, describe(response.data)
        code = status
        if status == 401:
            is_bearer = get_authorization_header(self.request).lower().startswith(b"bearer ")
            code = WRONG_KEY if is_bearer else NO_BEARER
            if not is_bearer:
                message = "Invalid Authorization header format. Expected 'Bearer <api-key>' format."
            response.status_code = 403  # by which Dify recognises a wrong key
        elif response.data["code"] == "unknown_index":
            code = UNKNOWN_KNOWLEDGE
        response.data = {"error_code": code, "error_msg": message}
        return response


def _render_passage(passage: FoundPassage) -> dict[str, Any]:
    hit = passage.hit
    artifact = hit["artifact"]
    return {
        "content": hit["text"],
        "score": passage.score,
        "title": artifact["title"] or artifact["file_name"] or "",
        "metadata": {
            **hit["metadata"],
            "document_id": artifact["id"],
            "file_name": artifact["file_name"],
            "page": get_page_number(hit),
            "url": passage.url,
            "verdict": hit["verdict"],
        },
    }
