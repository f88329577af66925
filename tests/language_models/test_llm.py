"""The language model client, against a scripted endpoint on loopback."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel, Field

from language_models import llm
from language_models.exceptions import (
    InvalidCompletion,
    LanguageModelCost,
    LanguageModelError,
    LanguageModelMisconfigured,
    LanguageModelMissing,
    LanguageModelRefused,
    LanguageModelSilent,
    LanguageModelTooSlow,
    LanguageModelUnavailable,
)
from language_models.prompts import make_fence

FENCE = make_fence("Stones.")
KEY = "sk-a-key-nobody-may-see"


class Topic(BaseModel):
    name: str = Field(description="A noun.")


class Answer(BaseModel):
    default: str = "none"
    topics: list[Topic] = []
    main: Topic | None = None


GOOD = json.dumps({"default": "a", "topics": [{"name": "stone"}], "main": None})


@dataclass
class Request:
    body: dict[str, Any]
    headers: dict[str, str]
    at: float


class Endpoint(ThreadingHTTPServer):
    """Answers the n-th request with the n-th script, and all further requests with the last."""

    daemon_threads = True
    request_queue_size = 256  # for the tests that send hundreds of requests at once

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scripts: list[Callable[[Handler], None]] = []
        self.requests: list[Request] = []
        self.in_flight = self.most_in_flight = 0
        self.broken = threading.Event()  # a client disconnected during an answer
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextlib.contextmanager
def running_endpoint() -> Iterator[Endpoint]:
    """Serve an endpoint in a thread until the block ends."""
    with Endpoint() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


class Handler(BaseHTTPRequestHandler):
    server: Endpoint
    body: dict[str, Any]

    def do_POST(self) -> None:
        server = self.server
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            script = server.scripts[min(len(server.requests), len(server.scripts) - 1)]
            server.requests.append(Request(self.body, dict(self.headers), time.monotonic()))
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
        try:
            script(self)
        except OSError:
            server.broken.set()
        finally:
            with server.lock:
                server.in_flight -= 1

    def log_message(self, *args: object) -> None:
        pass

    def send(self, status: int, body: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body.encode())

    def send_event(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()


def says(
    text: str | None, finish_reason: str = "stop", **message: object
) -> Callable[[Handler], None]:
    """Write the text in one piece, and then say how the answer ended and what it took."""
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}

    def script(handler: Handler) -> None:
        handler.send(200, "", Content_Type="text/event-stream")
        handler.send_event(delta(""))
        handler.send_event(make_chunk({"content": text, **message}))
        handler.send_event(make_chunk({}, finish_reason))
        handler.send_event(
            json.dumps({**json.loads(make_chunk({})), "choices": [], "usage": usage})
        )
        handler.send_event("[DONE]")

    return script


def fails(status: int, message: str = "no", **headers: str) -> Callable[[Handler], None]:
    body = json.dumps({"error": {"message": message, "type": "error"}})
    return lambda handler: handler.send(status, body, **headers)


def hangs(handler: Handler) -> None:
    """Send nothing until the client disconnects."""
    handler.connection.settimeout(10)
    if not handler.connection.recv(1):
        raise ConnectionResetError


def slowly(answer: Callable[[Handler], None], seconds: float) -> Callable[[Handler], None]:
    def script(handler: Handler) -> None:
        time.sleep(seconds)
        answer(handler)

    return script


def make_chunk(delta: dict[str, object], finish_reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "as-the-endpoint-calls-it",
            "choices": [choice],
        }
    )


def delta(text: str) -> str:
    return make_chunk({"role": "assistant", "content": text})


def streams(
    *texts: str, then: Callable[[Handler], None] | None = None
) -> Callable[[Handler], None]:
    def script(handler: Handler) -> None:
        handler.send(200, "", Content_Type="text/event-stream")
        for text in texts:
            handler.send_event(delta(text))
        if then is None:
            handler.send_event("[DONE]")
        else:
            then(handler)

    return script


def on_and_on(handler: Handler) -> None:
    for number in range(1_000):
        handler.send_event(delta(f" {number}"))
        time.sleep(0.02)


def out_of_memory(handler: Handler) -> None:
    handler.send_event(json.dumps({"error": {"message": f"no memory for {KEY}"}}))


@pytest.fixture
def endpoint(settings) -> Iterator[Endpoint]:
    with running_endpoint() as server:
        settings.STRATA_LLM_BASE_URL = server.url
        settings.STRATA_LLM_MODEL = "a-model"
        settings.STRATA_LLM_API_KEY = KEY
        settings.STRATA_LLM_TIMEOUT_SECONDS = 5.0
        settings.STRATA_LLM_RETRIES = 3
        settings.STRATA_LLM_BACKOFF_SECONDS = 0.01
        settings.STRATA_LLM_CONCURRENCY = 4
        yield server


@pytest.fixture
def model(endpoint: Endpoint) -> llm.LanguageModel:
    return llm.get_language_model()


def ask(model: llm.LanguageModel, **options: Any) -> llm.Completion[Answer]:
    return model.complete("Be brief.", "What is in it?", Answer, **options)


class TestGetLanguageModel:
    def test_raises_an_error_if_none_is_configured(self, settings):
        settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_MODEL = "", "a-model"

        assert not llm.is_configured()
        with pytest.raises(LanguageModelMissing) as caught:
            llm.get_language_model()

        assert caught.value.is_about_setup

    def test_returns_one_model_per_name(self, endpoint):
        assert llm.get_language_model("b") is llm.get_language_model("b")
        assert llm.get_language_model().name == "a-model"

    def test_returns_another_model_after_a_change_of_settings(self, endpoint, settings):
        before = llm.get_language_model()
        settings.STRATA_LLM_API_KEY = "another"

        assert llm.get_language_model() is not before

    def test_loads_no_language_model_library_before_the_first_call(self):
        code = (
            "import django, sys; django.setup(); import language_models.llm;"
            "sys.exit(any(name in sys.modules for name in ('openai', 'llama_index.llms')))"
        )
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings.test"}

        done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)

        assert done.returncode == 0


class TestComplete:
    def test_sends_the_schema_and_returns_the_parsed_answer(self, endpoint, model):
        endpoint.scripts = [says(GOOD)]

        completion = ask(model, max_tokens=99)

        assert completion == llm.Completion(
            value=Answer(default="a", topics=[Topic(name="stone")]),
            model_name="a-model",
            cost=LanguageModelCost(call_count=1, prompt_tokens=11, completion_tokens=7),
        )
        [request] = endpoint.requests
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        assert request.body["model"] == "a-model"
        assert request.body["temperature"] == 0
        assert request.body["max_tokens"] == 99
        assert request.body["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is in it?"},
        ]
        assert request.body["response_format"]["type"] == "json_schema"
        assert request.body["response_format"]["json_schema"] == {
            "name": "Answer",
            "strict": True,
            "schema": {
                "title": "Answer",
                "type": "object",
                "properties": {
                    "default": {"title": "Default", "type": "string"},
                    "topics": {
                        "title": "Topics",
                        "type": "array",
                        "items": {"$ref": "#/$defs/Topic"},
                    },
                    "main": {"anyOf": [{"$ref": "#/$defs/Topic"}, {"type": "null"}]},
                },
                "required": ["default", "topics", "main"],
                "additionalProperties": False,
                "$defs": {
                    "Topic": {
                        "title": "Topic",
                        "type": "object",
                        "properties": {
                            "name": {"title": "Name", "type": "string", "description": "A noun."}
                        },
                        "required": ["name"],
                        "additionalProperties": False,
                    }
                },
            },
        }

    def test_does_not_send_the_key_of_the_environment_if_none_is_set(
        self, endpoint, settings, monkeypatch
    ):
        settings.STRATA_LLM_API_KEY = ""
        monkeypatch.setenv("OPENAI_API_KEY", "sk-for-somebody-else")
        endpoint.scripts = [says(GOOD)]

        ask(llm.get_language_model())

        assert "somebody" not in str(endpoint.requests[0].headers)

    def test_removes_a_repeated_fence_of_the_prompt(self, endpoint, model):
        endpoint.scripts = [says(json.dumps({"default": f"{FENCE}\nLimestone.\n{FENCE}"}))]

        assert ask(model).value.default.strip() == "Limestone."

    def test_shows_the_model_the_error_in_its_answer_once(self, endpoint, model):
        endpoint.scripts = [says('{"topics": [{"nome": "stone"}]}'), says(GOOD)]

        completion = ask(model)

        assert completion.value.topics == [Topic(name="stone")]
        assert completion.cost.call_count == 2
        assert (completion.cost.prompt_tokens, completion.cost.completion_tokens) == (22, 14)
        _, _, answer, problem = endpoint.requests[1].body["messages"]
        assert answer == {"role": "assistant", "content": '{"topics": [{"nome": "stone"}]}'}
        assert problem["role"] == "user"
        assert "topics.0.name: Field required" in problem["content"]

    def test_asks_once_more_if_the_answer_has_a_fault(self, endpoint, model):
        endpoint.scripts = [says('{"topics": []}'), says(GOOD)]

        completion = ask(model, find_fault=lambda value: None if value.topics else "Name some.")

        assert completion.value.topics == [Topic(name="stone")]
        assert completion.cost.call_count == 2
        assert endpoint.requests[1].body["messages"][-1]["content"] == "Name some."

    def test_keeps_an_answer_with_a_fault_if_the_second_is_not_valid(self, endpoint, model):
        endpoint.scripts = [says('{"topics": []}'), says("no JSON")]

        completion = ask(model, find_fault=lambda value: "Name some.")

        assert completion.value.topics == []
        assert len(endpoint.requests) == 2

    @pytest.mark.parametrize("text", ["no JSON", "", None])
    def test_raises_an_error_after_a_second_invalid_answer(self, endpoint, model, text):
        endpoint.scripts = [says(text)]

        with pytest.raises(InvalidCompletion) as caught:
            ask(model)

        assert len(endpoint.requests) == caught.value.cost.call_count == 2
        assert (caught.value.cost.prompt_tokens, caught.value.cost.completion_tokens) == (22, 14)
        assert not caught.value.is_retryable

    @pytest.mark.parametrize("script", [hangs, fails(503)])
    def test_stops_after_the_given_patience(self, endpoint, model, settings, script):
        settings.STRATA_LLM_BACKOFF_SECONDS = 60.0
        endpoint.scripts = [script]

        with pytest.raises(LanguageModelUnavailable) as caught:
            ask(model, patience_seconds=0.3)

        assert caught.value.cost.call_count == len(endpoint.requests) == 1

    def test_retries_within_the_given_patience(self, endpoint, model):
        endpoint.scripts = [fails(503), says(GOOD)]

        assert ask(model, patience_seconds=30).cost.call_count == 2

    def test_does_not_retry_a_truncated_answer(self, endpoint, model):
        endpoint.scripts = [says('{"topics": [', "length")]

        with pytest.raises(InvalidCompletion, match="truncated at 64 tokens") as caught:
            ask(model, max_tokens=64)

        assert caught.value.cost.call_count == 1
        assert caught.value.cost.completion_tokens == 7

    @pytest.mark.parametrize(
        "answer", [says(None, refusal="I will not."), says(None, "content_filter")]
    )
    def test_raises_a_refusal_of_the_model(self, endpoint, model, answer):
        endpoint.scripts = [answer]

        with pytest.raises(LanguageModelRefused) as caught:
            ask(model)

        assert (caught.value.cost.call_count, caught.value.cost.prompt_tokens) == (1, 11)

    @pytest.mark.parametrize(
        "retry_after",
        [lambda: "0.4", lambda: format_datetime(datetime.now(UTC) + timedelta(seconds=2))],
    )
    def test_retries_after_the_time_that_the_server_names(self, endpoint, model, retry_after):
        def busy(handler: Handler) -> None:
            fails(429, Retry_After=retry_after())(handler)

        endpoint.scripts = [busy, says(GOOD)]

        completion = ask(model)

        assert completion.cost.call_count == 2
        first, second = endpoint.requests
        assert 0.4 <= second.at - first.at < 3

    def test_leaves_a_long_wait_to_the_caller(self, endpoint, model):
        endpoint.scripts = [fails(429, Retry_After="3600")]

        with pytest.raises(LanguageModelUnavailable) as caught:
            ask(model)

        assert caught.value.cost.call_count == 1
        assert caught.value.retry_after == 3600

    @pytest.mark.parametrize("status", [408, 429, 500, 503])
    def test_tries_as_often_as_the_settings_allow(self, endpoint, model, status):
        endpoint.scripts = [fails(status)]

        with pytest.raises(LanguageModelUnavailable, match=str(status)) as caught:
            ask(model)

        assert len(endpoint.requests) == caught.value.cost.call_count == 4
        assert caught.value.is_retryable

    def test_counts_calls_and_tokens_of_a_failure(self, endpoint, model):
        endpoint.scripts = [fails(500), says("no JSON"), fails(500)]

        with pytest.raises(LanguageModelUnavailable) as caught:
            ask(model)

        assert caught.value.cost.call_count == 6
        assert (caught.value.cost.prompt_tokens, caught.value.cost.completion_tokens) == (11, 7)

    def test_waits_longer_each_time(self, endpoint, model, settings):
        settings.STRATA_LLM_BACKOFF_SECONDS = 0.2
        endpoint.scripts = [fails(500)]

        with pytest.raises(LanguageModelUnavailable):
            ask(model)

        times = [request.at for request in endpoint.requests]
        waits = [after - before for before, after in pairwise(times)]
        assert waits[0] >= 0.1
        assert waits[1] >= 0.2
        assert waits[2] >= 0.4

    @pytest.mark.parametrize("status", [400, 413, 422])
    def test_raises_a_refusal_of_the_endpoint(self, endpoint, model, status):
        endpoint.scripts = [fails(status, "the prompt is too long")]

        with pytest.raises(LanguageModelRefused, match=f"{status}: the prompt is too") as caught:
            ask(model)

        assert len(endpoint.requests) == caught.value.cost.call_count == 1
        assert not caught.value.is_retryable
        assert not caught.value.is_about_setup

    def test_refuses_a_text_that_cannot_be_sent(self, endpoint, model):
        with pytest.raises(LanguageModelRefused, match="unpaired surrogate"):
            model.complete("Be brief.", "\ud83d", Answer)

        assert endpoint.requests == []

    @pytest.mark.parametrize("status", [401, 403, 404, 307])
    def test_distinguishes_a_wrong_setup_from_a_refused_text(self, endpoint, model, status):
        endpoint.scripts = [fails(status, Location="/elsewhere")]

        with pytest.raises(LanguageModelMisconfigured) as caught:
            ask(model)

        assert len(endpoint.requests) == 1
        assert caught.value.is_about_setup
        assert "STRATA_LLM_API_KEY" in caught.value.fix

    def test_does_not_repeat_a_call_that_had_its_time(self, endpoint, model, settings):
        settings.STRATA_LLM_TIMEOUT_SECONDS, settings.STRATA_LLM_RETRIES = 0.3, 1
        endpoint.scripts = [hangs]

        with pytest.raises(LanguageModelSilent, match=r"nothing within 0\.3 s") as caught:
            ask(model)

        assert caught.value.cost.call_count == 1
        assert "STRATA_LLM_TIMEOUT_SECONDS to more than 0.3" in caught.value.fix

    def test_raises_an_error_if_no_server_listens(self, model, settings):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            settings.STRATA_LLM_BASE_URL = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"

            with pytest.raises(LanguageModelUnavailable, match="attempts failed") as caught:
                ask(llm.get_language_model())

        assert caught.value.cost.call_count == 4

    @pytest.mark.parametrize(
        "body", ["<html>A proxy's page</html>", "", "{}", '{"choices": []}', '{"choices": [{}]}']
    )
    def test_rejects_a_malformed_response(self, endpoint, model, settings, body):
        settings.STRATA_LLM_RETRIES = 0
        endpoint.scripts = [lambda handler: handler.send(200, body)]

        with pytest.raises(LanguageModelUnavailable):
            ask(model)

    def test_rejects_an_incomplete_response(self, endpoint, model, settings):
        settings.STRATA_LLM_RETRIES = 0
        endpoint.scripts = [lambda handler: handler.send(200, '{"choi', Content_Length="900")]

        with pytest.raises(LanguageModelUnavailable):
            ask(model)

    @pytest.mark.parametrize("url", ["nowhere", "ftp://127.0.0.1/v1", "http://127.0.0.1:port/v1"])
    def test_rejects_an_invalid_url(self, endpoint, settings, url):
        settings.STRATA_LLM_BASE_URL = url

        with pytest.raises(LanguageModelMisconfigured):
            ask(llm.get_language_model())

    @pytest.mark.parametrize(
        "answer",
        [
            fails(400, f"Incorrect key {KEY}"),
            fails(401, f"Incorrect key {KEY}"),
            fails(503, f"Incorrect key {KEY}"),
            lambda handler: handler.send(500, f"Authorization: Bearer {KEY}"),
        ],
    )
    def test_never_shows_the_key(self, endpoint, model, settings, answer):
        settings.STRATA_LLM_RETRIES = 0
        endpoint.scripts = [answer]

        with pytest.raises(LanguageModelError) as caught:
            ask(model)

        assert KEY not in repr(caught.value) + str(caught.value.as_json()) + repr(model)
        assert caught.value.__suppress_context__

    @pytest.mark.parametrize("key", [f"{KEY}\nx", f"{KEY}ü"])
    def test_never_shows_a_key_that_cannot_be_sent(self, endpoint, settings, key):
        settings.STRATA_LLM_API_KEY = key

        with pytest.raises(LanguageModelMisconfigured) as caught:
            ask(llm.get_language_model())

        assert KEY not in repr(caught.value)

    def test_limits_simultaneous_calls(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 2
        endpoint.scripts = [slowly(says(GOOD), 0.1)]

        with ThreadPoolExecutor(8) as pool:
            completions = list(pool.map(lambda _: ask(model), range(8)))

        assert len(completions) == 8
        assert endpoint.most_in_flight == 2

    def test_frees_its_slot_after_a_failure(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 1
        endpoint.scripts = [fails(400), fails(400), says(GOOD)]
        for _ in range(2):
            with pytest.raises(LanguageModelRefused):
                ask(model)

        assert ask(model).cost.call_count == 1


def stream(model: llm.LanguageModel, *prompt: str, max_tokens: int = 50) -> Iterator[str]:
    """The pieces of ``astream``, each read when it is asked for."""
    prompt = prompt or ("Be brief.", "What is in it?")
    pieces = model.astream(*prompt, max_tokens=max_tokens)

    async def take_next() -> str | None:
        return await anext(pieces, None)

    with asyncio.Runner() as runner:
        try:
            while (piece := runner.run(take_next())) is not None:
                yield piece
        finally:
            runner.run(pieces.aclose())


async def astream(model: llm.LanguageModel) -> list[str]:
    return [piece async for piece in model.astream("Be brief.", "What is in it?", max_tokens=50)]


def read(model: llm.LanguageModel) -> list[str]:
    return asyncio.run(astream(model))


class TestAstream:
    def test_yield_the_text_piece_by_piece(self, endpoint, model):
        endpoint.scripts = [streams("Lime", "", "stone", ".")]

        assert read(model) == ["Lime", "stone", "."]
        [request] = endpoint.requests
        assert request.body["stream"] is True
        assert request.body["temperature"] == 0
        assert request.body["max_tokens"] == 50
        assert "response_format" not in request.body

    def test_leave_out_a_repeated_fence_of_the_prompt(self, endpoint, model):
        endpoint.scripts = [streams("Lime", FENCE[:9], f"{FENCE[9:]}st", "one --")]

        assert "".join(read(model)) == "Limestone --"

    def test_retry_before_the_first_piece(self, endpoint, model):
        endpoint.scripts = [fails(503), fails(429, Retry_After="0.1"), streams("Slate")]

        assert read(model) == ["Slate"]

    def test_do_not_retry_after_the_first_piece(self, endpoint, model, settings):
        settings.STRATA_LLM_TIMEOUT_SECONDS = 0.3
        endpoint.scripts = [streams("Sla", then=hangs)]

        with pytest.raises(LanguageModelTooSlow, match=r"not finish within 0\.3 s") as caught:
            read(model)

        assert len(endpoint.requests) == caught.value.cost.call_count == 1

    def test_raise_an_error_event_of_the_stream(self, endpoint, model):
        endpoint.scripts = [streams("Sla", then=out_of_memory)]

        with pytest.raises(LanguageModelUnavailable, match="no memory") as caught:
            read(model)

        assert KEY not in repr(caught.value)

    def test_raise_an_error_for_a_response_that_is_not_a_stream(self, endpoint, model, settings):
        settings.STRATA_LLM_RETRIES = 1
        endpoint.scripts = [lambda handler: handler.send(200, "<html></html>")]

        with pytest.raises(LanguageModelUnavailable) as caught:
            read(model)

        assert caught.value.cost.call_count == 2

    @pytest.mark.parametrize(
        ("status", "condition"),
        [(400, LanguageModelRefused), (401, LanguageModelMisconfigured)],
    )
    def test_do_not_retry_a_refusal(self, endpoint, model, status, condition):
        endpoint.scripts = [fails(status)]

        with pytest.raises(condition):
            read(model)

        assert len(endpoint.requests) == 1

    def test_limit_simultaneous_calls(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 2
        endpoint.scripts = [slowly(streams("Slate"), 0.1)]

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: read(model), range(6)))

        assert answers == [["Slate"]] * 6
        assert endpoint.most_in_flight == 2


class TestClosing:
    def test_sends_nothing_before_it_is_read(self, endpoint, model):
        stream(model)

        assert endpoint.requests == []

    def test_closes_the_connection_when_it_is_closed(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 1
        endpoint.scripts = [streams(then=on_and_on), says(GOOD)]
        pieces = stream(model)
        next(pieces)

        pieces.close()

        assert endpoint.broken.wait(30)
        assert ask(model).cost.call_count == 1  # its slot is free again

    def test_occupies_its_slot_until_it_is_closed(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 1
        endpoint.scripts = [streams(then=on_and_on), says(GOOD)]
        pieces = stream(model)
        next(pieces)

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask, model)
            time.sleep(0.2)
            assert len(endpoint.requests) == 1
            pieces.close()

            assert waiting.result(timeout=30).cost.call_count == 1


class TestEventLoop:
    def test_closes_the_connection_when_it_is_closed(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 1
        endpoint.scripts = [streams(then=on_and_on), streams("Slate")]

        async def read() -> list[str]:
            async with contextlib.aclosing(model.astream("", "")) as pieces:
                await anext(pieces)
            assert await asyncio.to_thread(endpoint.broken.wait, 30)
            return await astream(model)

        assert asyncio.run(read()) == ["Slate"]

    def test_closes_the_connection_when_it_is_cancelled(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 1
        endpoint.scripts = [streams("Sla", then=hangs), streams("Slate")]

        async def read() -> list[str]:
            task = asyncio.create_task(astream(model))
            while not endpoint.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(endpoint.broken.wait, 30)
            return await astream(model)

        assert asyncio.run(read()) == ["Slate"]

    def test_frees_its_place_in_the_queue_when_it_is_cancelled(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 1
        endpoint.scripts = [streams(then=on_and_on), slowly(streams("Slate"), 0.1)]
        holder = stream(model)
        next(holder)

        async def read() -> list[list[str]]:
            waiting = asyncio.create_task(astream(model))
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.to_thread(holder.close)
            assert await asyncio.to_thread(endpoint.broken.wait, 30)
            endpoint.most_in_flight = 0
            return list(await asyncio.gather(astream(model), astream(model)))

        assert asyncio.run(asyncio.wait_for(read(), 30)) == [["Slate"], ["Slate"]]
        assert endpoint.most_in_flight == 1

    def test_does_not_block_the_event_loop(self, endpoint, model):
        endpoint.scripts = [slowly(streams("Slate"), 0.5)]

        async def count_ticks() -> int:
            reading = asyncio.create_task(astream(model))
            ticks = 0
            while not reading.done():
                await asyncio.sleep(0.01)
                ticks += 1
            return ticks

        assert asyncio.run(count_ticks()) > 5  # a blocked loop would count one or two


class TestForkedChild:
    def test_has_slots_of_its_own(self, endpoint, model, settings):
        settings.STRATA_LLM_CONCURRENCY = 1
        endpoint.scripts = [streams(then=on_and_on), says(GOOD)]
        holder = stream(model)
        next(holder)

        child = os.fork()
        if child == 0:
            try:
                ask(model)
            except BaseException:  # noqa: BLE001
                os._exit(1)
            os._exit(0)
        deadline = time.monotonic() + 20
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, 9)
            time.sleep(0.05)
        holder.close()

        assert os.waitstatus_to_exitcode(ended[1]) == 0
