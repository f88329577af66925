"""Answers questions over HTTP, as server-sent events or as one JSON object.

    POST api/v1/ask     a thread checks the key, the parameters and the index;
                        then on the event loop: answer_stream.stream_answer -> events -> response

Under WSGI, the thread that sends the events runs the event loop.

Source of the format: HTML Living Standard, section 9.2, "Server-sent events".
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from access.request_throttle import get_holder
from access.usage_limits import StreamSlot, require_model_use, take_stream
from answers.answer_stream import AnswerEvent, JoinedAnswer, StreamPosition, stream_answer
from answers.asking import AskRequest, PipelineHits
from answers.pipelines.running import check_ask_request
from answers.serializers import AskBodySerializer, AskParametersSerializer, render_pipeline_hits
from core.http_formats import IgnoreAcceptHeader
from core.openapi import ERROR, body_of
from retrieval.event_loop import run_in_thread
from retrieval.search import find_only_index
from retrieval.serializers.requests import read_query_string
from retrieval.views.searches import enqueue_planning_of_stale_hits

logger = logging.getLogger(__name__)

T = TypeVar("T")

EVENT_STREAM: Final = "text/event-stream"
HEARTBEAT_SECONDS: Final = 10.0  # proxies cut connections that are silent, often after 60
ASK_RESPONSES: Final = {
    (200, EVENT_STREAM): body_of(strata_types.AnswerStreamEvent, EVENT_STREAM),
    (200, "application/json"): body_of(strata_types.Answer),
    404: ERROR,
    422: ERROR,
    502: ERROR,
}
SERVER_ERROR: Final = "Something went wrong on the server; it has been logged."


@dataclass(eq=False, repr=False)
class ReadQuestion(HttpResponse):
    """A checked question, returned from the thread that read it to the event loop. ``slot``: to be
    freed at the end of the answer."""

    question: AskRequest
    caller: str
    resume_from: StreamPosition | None
    slot: StreamSlot

    def __post_init__(self) -> None:
        super().__init__()


class _AnswerStream(StreamingHttpResponse):
    """Frees the slot of the answer when Django closes the response, however it ended."""

    def __init__(
        self, parts: AsyncGenerator[bytes, None] | Iterator[bytes], slot: StreamSlot
    ) -> None:
        super().__init__(parts, content_type=EVENT_STREAM)
        self._slot = slot

    def close(self) -> None:
        super().close()
        self._slot.free()


class QuestionView(APIView):
    """Reads and checks a question, which is answered on the event loop."""

    scopes = Scope.SEARCH
    content_negotiation_class = IgnoreAcceptHeader  # of errors: many accept only the stream
    renderer_classes = [JSONRenderer]

    def read(self, request: Request, given: dict[str, Any]) -> ReadQuestion:
        holder, grant = get_holder(request), get_grant(request)
        if "index" not in given:
            given["index"] = find_only_index(grant)
        question = AskRequest(**given, grant=grant, holder=holder)
        last_id = request.headers.get("Last-Event-ID")
        resume_from = StreamPosition.parse(last_id) if last_id else None
        check_ask_request(question)
        require_model_use(holder)
        return ReadQuestion(question, str(request.user), resume_from, take_stream(holder))


class AskView(QuestionView):
    @extend_schema(
        operation_id="ask",
        tags=["Answers"],
        summary="Ask in whole sentences",
        parameters=[AskParametersSerializer],
        responses=ASK_RESPONSES,
    )
    def get(self, request: Request) -> HttpResponse:
        content = read_query_string(request.query_params)
        return self.read(request, AskParametersSerializer.read(content))

    @extend_schema(
        operation_id="ask_by_body",
        tags=["Answers"],
        summary="Ask in whole sentences, with the parameters in the body",
        request=AskBodySerializer,
        parameters=[
            OpenApiParameter(
                "Last-Event-ID",
                location=OpenApiParameter.HEADER,
                description="Complete a finished answer after this event.",
            )
        ],
        responses=ASK_RESPONSES,
    )
    def post(self, request: Request) -> HttpResponse:
        return self.read(request, AskBodySerializer.read(request.data))


_read = AskView.as_view()


@csrf_exempt
async def answer_question(request: HttpRequest) -> HttpResponseBase:
    # Django's own thread for synchronous code is new for each request, and opens a new database
    # connection.
    read = await run_in_thread(_read, request)
    if not isinstance(read, ReadQuestion):
        return read
    if _wants_json(request):
        return await answer_as_json(read)
    return send_events(request, read, _encode_event)


# The OpenAPI generator finds the view by these attributes.
answer_question.cls = AskView  # type: ignore[attr-defined]
answer_question.initkwargs = {}  # type: ignore[attr-defined]


def _render(question: AskRequest, found: PipelineHits) -> dict[str, Any]:
    enqueue_planning_of_stale_hits(found.stale_ids)
    return render_pipeline_hits(question, found)


def _wants_json(request: HttpRequest) -> bool:
    """Whether the client accepts JSON by name and does not accept a stream."""
    accepted = {
        kind.partition(";")[0].strip() for kind in request.headers.get("Accept", "").split(",")
    }
    return "application/json" in accepted and EVENT_STREAM not in accepted


async def answer_as_json(read: ReadQuestion) -> HttpResponse:
    """The whole answer, or the error."""
    answer = JoinedAnswer()
    try:
        async with aclosing(_start(read)) as events:
            async for event in events:
                answer.add(event.kind, event.data)
    except Exception as error:
        described = _describe_error(error)
        if described is None:
            raise
        if not answer.content:
            response = JsonResponse(described.data, status=described.status_code)
            for name, value in described.headers.items():
                response.headers.setdefault(name, value)
            return response
        answer.break_off(error)
    finally:
        await asyncio.to_thread(read.slot.free)
    return JsonResponse(answer.as_json(), encoder=JSONEncoder)


def _start(read: ReadQuestion) -> AsyncGenerator[AnswerEvent, None]:
    return stream_answer(
        read.question, caller=read.caller, render=_render, resume_from=read.resume_from
    )


def _describe_error(error: Exception) -> Response | None:
    """The API's response for an error; None for an unexpected exception."""
    handler: Any = api_settings.EXCEPTION_HANDLER
    response: Response | None = handler(error, {})
    return response


def send_events(
    request: HttpRequest, read: ReadQuestion, encode: Callable[[AnswerEvent], bytes]
) -> StreamingHttpResponse:
    """Send the events of the answer while it is made, with comments between them."""
    parts = _write_events(_end_with_error_event(_start(read)), encode)
    is_on_loop = isinstance(request, ASGIRequest)
    response = _AnswerStream(parts if is_on_loop else _iterate(parts), read.slot)
    response.headers["Cache-Control"] = "no-cache"
    response.headers["X-Accel-Buffering"] = "no"  # keeps nginx from buffering the events
    return response


async def _end_with_error_event(
    events: AsyncGenerator[AnswerEvent, None],
) -> AsyncGenerator[AnswerEvent, None]:
    """Yield the events; report an exception as a last event, because the status is already sent."""
    async with aclosing(events):
        try:
            async for event in events:
                yield event
        except Exception as error:
            described = _describe_error(error)
            if described is None:
                logger.exception("A question could not be answered")
                yield AnswerEvent("error", {"code": "server_error", "detail": SERVER_ERROR})
            else:
                yield AnswerEvent("error", described.data)


async def _write_events(
    events: AsyncGenerator[AnswerEvent, None], encode: Callable[[AnswerEvent], bytes]
) -> AsyncGenerator[bytes, None]:
    """Encode the events, with a comment after each HEARTBEAT_SECONDS without an event."""
    following: asyncio.Task[AnswerEvent | None] | None = None
    try:
        while True:
            if following is None:
                following = asyncio.create_task(_take_next(events))
            await asyncio.wait([following], timeout=HEARTBEAT_SECONDS)
            if not following.done():
                yield b": still here\n\n"
                continue
            event, following = following.result(), None
            if event is None:
                return
            yield encode(event)
    finally:
        if following is not None:
            following.cancel()
            await asyncio.wait([following])
        await events.aclose()


async def _take_next(iterator: AsyncGenerator[T, None]) -> T | None:
    return await anext(iterator, None)


def _iterate(parts: AsyncGenerator[bytes, None]) -> Iterator[bytes]:
    """Take the parts one by one, on an event loop of this thread."""
    with asyncio.Runner() as runner:
        try:
            while (part := runner.run(_take_next(parts))) is not None:
                yield part
        finally:
            runner.run(parts.aclose())


def _encode_event(event: AnswerEvent) -> bytes:
    # json.dumps writes no line breaks, so the data is one line.
    lines = [] if event.id is None else [f"id: {event.id}"]
    data = json.dumps(event.data, cls=JSONEncoder, ensure_ascii=False)
    lines += [f"event: {event.kind}", f"data: {data}", "", ""]
    return "\n".join(lines).encode()
