"""Chat completions: the last message of the user is a question, which ``ask`` answers.

POST v1/chat/completions     a thread checks the key, the conversation and the index;
                             then on the event loop: the events of ``ask`` -> chunks
"""

import json
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request

from access.authentication import get_grant
from answers.answer_stream import AnswerEvent, JoinedAnswer
from answers.exceptions import UnknownPipeline
from answers.questions.follow_ups import MAX_TURNS
from answers.serializers import MAX_ANSWER_CHARS, AskBodySerializer
from answers.views.ask import QuestionView, ReadQuestion, answer_as_json, send_events
from core.exceptions import UnknownIndex
from guests.chat_models import make_unknown, split_model
from guests.completions import ChatBody, Completion, encode, read_conversation
from guests.errors import OpenAiView, make_openai_error, read_body
from guests.passages import make_links, note_index
from retrieval.event_loop import run_in_thread
from retrieval.search import MAX_QUERY_CHARS

MAX_BODY_BYTES = 2**20  # a long conversation

PARAMS = {"query": "messages", "history": "messages", "index": "model", "pipeline": "model"}


@dataclass(eq=False, repr=False)
class _ReadChat(HttpResponse):
    """A checked conversation, returned from the thread that read it to the event loop."""

    question: ReadQuestion
    asked: ChatBody

    def __post_init__(self) -> None:
        super().__init__()


class ChatView(OpenAiView, QuestionView):
    """Reads and checks a conversation. ``answer_chat`` answers it."""

    params = PARAMS

    @staticmethod
    def max_body_bytes(content_type: str) -> int:
        return MAX_BODY_BYTES

    def post(self, request: Request) -> HttpResponse:
        asked = read_body(ChatBody, request.data)
        question, turns = read_conversation(
            asked.messages,
            max_turns=MAX_TURNS,
            max_question=MAX_QUERY_CHARS,
            max_answer=MAX_ANSWER_CHARS,
        )
        given = AskBodySerializer.read({"query": question, "history": turns})
        try:
            read = self.read(request, given | split_model(asked.model))
        except (UnknownIndex, UnknownPipeline):
            raise make_unknown(asked.model, get_grant(request)) from None
        note_index(request, read.question.index)
        return _ReadChat(read, asked)


_read = ChatView.as_view()


@csrf_exempt
async def answer_chat(request: HttpRequest) -> HttpResponseBase:
    read = await run_in_thread(_read, request)
    if not isinstance(read, _ReadChat):
        return read
    completion = Completion(read.asked, make_links(request))
    if read.asked.stream:
        return send_events(request, read.question, _ChunkWriter(completion).write)
    answered = await answer_as_json(read.question)
    content = json.loads(answered.content)
    if answered.status_code < 400:
        return JsonResponse(completion.make_whole(content))
    error = make_openai_error(answered.status_code, content, PARAMS)
    waiting = {name: answered[name] for name in ("Retry-After",) if name in answered}
    return JsonResponse(error, status=answered.status_code, headers=waiting)


# The middleware and the tests of all routes find the view by this attribute.
answer_chat.cls = ChatView  # type: ignore[attr-defined]


class _ChunkWriter:
    """Writes the events of an answer as the chunks of a completion."""

    def __init__(self, completion: Completion) -> None:
        self._completion = completion
        self._answer = JoinedAnswer()

    def write(self, event: AnswerEvent) -> bytes:
        if event.kind == "error":
            return encode(make_openai_error(500, event.data, PARAMS))
        self._answer.add(event.kind, event.data)
        match event.kind:
            case "metadata":
                return self._completion.begin()
            case "chunk":
                return self._completion.go_on(event.data["text"])
            case _:
                return b"".join(self._completion.end(self._answer.as_json()))
