"""Questions to a real service over HTTP, with a scripted language model on loopback."""

import asyncio
import contextlib
import json
import socket
import threading
import time
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.cache import cache

from access import usage_limits
from access.models import ApiKey
from answers.answer_stream import AnswerEvent, StreamPosition
from answers.asking import AskRequest
from answers.views import ask as ask_views
from core.circuit_breaker import PAUSE_SECONDS
from documents.models import Artifact
from indexing.models import IndexBuild
from tests import factories
from tests.faults.armed import armed
from tests.language_models.test_llm import on_and_on, running_endpoint, says, streams
from tests.serving import KEY

TIDE = "The tide turns at noon. Boats leave the harbour before dawn."
PATIENCE_SECONDS = 30
LEAVING = 200  # clients that disconnect at once
FEW = 30  # allowed new threads and descriptors: eight threads may open a database connection


@pytest.fixture(scope="module")
def endpoint():
    with running_endpoint() as server:
        yield server


@pytest.fixture(scope="module")
def service(endpoint, tmp_path_factory):
    """A service whose answers the endpoint writes."""
    data_dir = tmp_path_factory.mktemp("asked")
    settings = {
        "STRATA_LLM_BASE_URL": endpoint.url,
        "STRATA_LLM_MODEL": "a-model",
        "STRATA_LLM_RETRIES": "0",
    }
    with armed(data_dir, **settings) as service:
        service.add("plain", text=TIDE, title="Harbour", external_id="harbour")
        yield service


@pytest.fixture(autouse=True)
def forgotten(endpoint):
    endpoint.requests.clear()
    endpoint.broken.clear()
    endpoint.scripts = [streams("Boats leave ", "before dawn ", "[1].")]


def read_events(lines):
    """(id, kind, data) of each event, from the lines of a stream."""
    event = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            yield event.get("id"), event["event"], json.loads(event["data"])
            event = {}


@contextlib.contextmanager
def asking(service, **more):
    headers = {"Last-Event-ID": more.pop("since")} if "since" in more else {}
    question = {"index": "plain", "query": "When do boats leave the harbour?", **more}
    with service.api.stream("POST", "ask", json=question, headers=headers) as response:
        yield response


def ask(service, **more):
    with asking(service, **more) as response:
        assert response.status_code == 200
        return list(read_events(response.iter_lines()))


def text_of(events):
    return "".join(data["text"] for _, kind, data in events if kind == "chunk")


class TestAFollowUp:
    HISTORY = ({"question": "When do boats leave the harbour?", "answer": "Before dawn."},)

    def test_is_rewritten_by_the_language_model(self, service, endpoint):
        rewritten = json.dumps({"question": "When does the tide turn in the harbour?"})
        endpoint.scripts = [says(rewritten), *endpoint.scripts]

        [(_, _, metadata), *_] = events = ask(service, query="And the tide?", history=self.HISTORY)

        assert metadata["question"] == metadata["query"]
        assert metadata["question"] == "When does the tide turn in the harbour?"
        assert metadata["took_ms"]["follow_up"] > 0
        assert metadata["notes"] == []
        assert text_of(events) == "Boats leave before dawn [1]."
        first, answering = (each.body["messages"] for each in endpoint.requests)
        assert "Answer: Before dawn." in first[1]["content"]
        assert "The last question: And the tide?" in first[1]["content"]
        assert "When does the tide turn" in answering[1]["content"]

    def test_is_taken_as_it_is_if_the_model_fails(self, service, endpoint):
        endpoint.scripts = [says("no JSON"), says("no JSON"), *endpoint.scripts]

        [(_, _, metadata), *_] = ask(service, history=self.HISTORY)

        assert metadata["question"] == "When do boats leave the harbour?"
        [note] = metadata["notes"]
        assert "without the earlier ones: the language model did not answer" in note

    @pytest.mark.parametrize(
        ("history", "field"),
        [
            ("Before dawn.", "history"),
            ([{"question": "When?"}], "history.0.answer"),
            ([{"question": "", "answer": "Before dawn."}], "history.0.question"),
            ([*HISTORY] * 11, "history"),
        ],
    )
    def test_with_a_wrong_history_is_refused(self, service, history, field):
        with asking(service, history=history) as response:
            assert response.status_code == 400
            assert json.loads(response.read())["field"] == field


class TestAStream:
    def test_sends_hits_then_the_answer_then_citations(self, service):
        [(_, first, metadata), *_, (_, last, done)] = events = ask(service)

        assert (first, last) == ("metadata", "done")
        [hit] = metadata["hits"]
        assert hit["text"] == TIDE
        assert metadata["relevant"] is True
        assert text_of(events) == "Boats leave before dawn [1]."
        [citation] = done["citations"]
        assert citation["node_id"] == hit["node_id"]
        assert TIDE[citation["start_offset"] : citation["end_offset"]] == (
            "Boats leave the harbour before dawn."
        )
        assert done["model_name"] == "a-model"

    def test_says_what_was_searched_and_when(self, service):
        before = datetime.now(UTC)

        [(_, _, metadata), *_] = ask(service)

        assert metadata["filters"] == metadata["parsed"] == {}
        assert metadata["semantic_query"] == "When do boats leave the harbour?"
        started_at, found_at = (
            datetime.fromisoformat(metadata[name]) for name in ("started_at", "found_at")
        )
        assert before <= started_at <= found_at <= datetime.now(UTC)
        took_ms = (found_at - started_at).total_seconds() * 1_000
        assert took_ms == pytest.approx(metadata["took_ms"]["total"], abs=50)

    def test_has_headers_that_prevent_buffering_by_proxies(self, service):
        with asking(service) as response:
            assert response.headers["Content-Type"] == "text/event-stream"
            assert response.headers["X-Accel-Buffering"] == "no"
            assert response.headers["Cache-Control"] == "no-cache"

    def test_restarts_after_a_broken_connection(self, service, endpoint):
        endpoint.scripts = [
            streams("Boats leave ", then=on_and_on),
            streams("Boats leave ", "before dawn ", "[1]."),
        ]
        first = []
        with asking(service) as response:
            for event in read_events(response.iter_lines()):
                first.append(event)
                if event[1] == "chunk":
                    break
        assert endpoint.broken.wait(PATIENCE_SECONDS)

        rest = ask(service, since=first[-1][0])

        assert rest[0][2]["restarted"] is True
        assert text_of(rest) == "Boats leave before dawn [1]."


class TestAClientThatLeaves:
    def test_stops_the_model_within_a_second(self, service, endpoint):
        endpoint.scripts = [on_and_on_from_the_start]
        with asking(service) as response:
            for _, kind, _ in read_events(response.iter_lines()):
                if kind == "chunk":
                    break

        assert endpoint.broken.wait(30)

    def test_leaves_no_connections_or_memory_after_two_hundred_repetitions(self, service, endpoint):
        endpoint.scripts = [on_and_on_from_the_start]
        process = Path(f"/proc/{service.process.pid}")

        def count():
            return len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))

        connect_and_reset(service, LEAVING)  # warm up, so that all threads exist
        sync(count)
        before, held = count(), resident_mib(process)

        connect_and_reset(service, LEAVING)
        sync(count)

        after = count()
        assert after[0] <= before[0] + FEW
        assert after[1] <= before[1] + FEW
        assert resident_mib(process) - held < 50
        wait_until_idle(endpoint)
        # On a busy machine, a call may have waited too long for the endpoint. It is then not asked
        # for a while, and rules answer.
        deadline = time.monotonic() + 2 * PAUSE_SECONDS
        answer = ""
        while answer != "Here [1].":
            assert time.monotonic() < deadline, answer
            endpoint.scripts = [streams("Here [1].")]
            answer = text_of(ask(service))


def on_and_on_from_the_start(handler):
    streams(then=on_and_on)(handler)


def connect_and_reset(service, count):
    body = json.dumps({"index": "plain", "query": "When do boats leave?"}).encode()
    head = (
        f"POST /api/v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    clients = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(count)]
    for client in clients:
        client.sendall(head + body)
    time.sleep(0.5)
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        client.close()


def sync(count):
    """Wait until the count has not changed for a while, and return it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    seen, since = count(), time.monotonic()
    while time.monotonic() - since < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
        if (now := count()) != seen:
            seen, since = now, time.monotonic()


def wait_until_idle(endpoint):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while endpoint.in_flight and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not endpoint.in_flight


def resident_mib(process):
    for line in (process / "status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError("VmRSS")


class TestAJsonAnswer:
    def test_contains_all_that_the_events_contain(self, service):
        answer = service.api.post(
            "ask",
            json={"index": "plain", "query": "When do boats leave?"},
            headers={"Accept": "application/json"},
        ).json()

        assert answer["answer"] == "Boats leave before dawn [1]."
        assert answer["hits"][0]["text"] == TIDE
        assert answer["citations"][0]["number"] == 1

    def test_is_asked_of_the_only_index_that_holds_something(self, service):
        answer = service.api.post(
            "ask",
            json={"query": "When do boats leave the harbour?"},
            headers={"Accept": "application/json"},
        )

        assert answer.json()["hits"][0]["artifact"]["title"] == "Harbour"


class TestAWrongQuestion:
    @pytest.mark.parametrize(
        ("given", "status", "field"),
        [
            ({"index": "nowhere", "query": "a"}, 404, "index"),
            ({"index": "plain"}, 400, "query"),
            ({"index": "plain", "query": " "}, 400, "query"),
            ({"index": ["plain", "library"], "query": "a"}, 400, "index"),
            ({"index": "plain", "query": "a", "limit": 0}, 400, "limit"),
            ({"index": "plain", "query": "a", "filter": {"colour": "red"}}, 400, "filter.colour"),
            ({"index": "plain", "query": "a", "pipeline": "nowhere"}, 404, "pipeline"),
            ({"index": "plain", "query": "a", "colour": "red"}, 400, "colour"),
        ],
    )
    def test_is_refused_before_anything_is_sent(self, service, given, status, field):
        answer = service.api.post("ask", json=given)

        assert answer.status_code == status
        assert answer.json()["field"] == field
        assert answer.headers["Content-Type"] == "application/json"

    def test_requires_a_key(self, service):
        answer = httpx.post(f"{service.url}/api/v1/ask", json={"index": "plain", "query": "a"})

        assert answer.status_code == 401

    def test_is_refused_with_a_malformed_event_id(self, service):
        with asking(service, since="yesterday") as response:
            assert response.status_code == 400
            assert json.loads(response.read())["field"] == "Last-Event-ID"


class TestEventFormat:
    def write(self, events):
        async def collect():
            return [part async for part in ask_views._write_events(events, ask_views._encode_event)]

        return asyncio.run(asyncio.wait_for(collect(), 10))

    def test_writes_an_event_as_lines(self):
        async def events():
            yield AnswerEvent("chunk", {"text": "a\nb ü"}, StreamPosition("x", 5))

        assert self.write(events()) == [
            'id: x.5\nevent: chunk\ndata: {"text": "a\\nb ü"}\n\n'.encode()
        ]

    def test_sends_heartbeats_while_there_is_no_event(self, monkeypatch):
        monkeypatch.setattr(ask_views, "HEARTBEAT_SECONDS", 0.05)

        async def events():
            await asyncio.sleep(0.2)
            yield AnswerEvent("done", {})

        *signs, last = self.write(events())

        assert len(signs) >= 2
        assert all(sign.startswith(b":") for sign in signs)
        assert last.startswith(b"event: done")


@pytest.mark.django_db(transaction=True)
class TestLimitsOfAKey:
    @pytest.fixture(autouse=True)
    def uncounted(self):
        cache.clear()
        yield
        cache.clear()

    @pytest.fixture
    def ask(self, client, build):
        secret = ApiKey.issue("reader")[1]

        def ask(**headers):
            return client.post(
                "/api/v1/ask",
                {"index": "plain", "query": "When do boats leave?"},
                content_type="application/json",
                headers={"Authorization": f"Bearer {secret}", **headers},
            )

        return ask

    def test_refuse_an_answer_over_the_limit(self, ask, settings):
        settings.STRATA_KEY_STREAMS = 1
        slot = usage_limits.take_stream("key reader")

        refused = ask()

        assert refused.status_code == 429
        assert refused.json()["code"] == "too_many_streams"
        assert int(refused.headers["Retry-After"]) > 0
        slot.free()
        for accepted in ("text/event-stream", "application/json"):
            answer = ask(Accept=accepted)
            assert answer.status_code == 200
            assert answer.getvalue()  # its end frees the slot

    def test_free_the_slot_of_a_stream_that_is_closed(self, settings):
        settings.STRATA_KEY_STREAMS = 1
        response = ask_views._AnswerStream(iter([]), usage_limits.take_stream("key reader"))

        response.close()

        assert usage_limits.take_stream("key reader")

    def test_free_the_slot_of_a_client_that_leaves_while_it_is_taken(
        self, settings, monkeypatch, rf
    ):
        settings.STRATA_KEY_STREAMS = 1
        is_reading, has_left = threading.Event(), threading.Event()
        asked = AskRequest("plain", "Who leaves?")
        returned: list[weakref.ref[Any]] = []

        def read(request):
            is_reading.set()
            assert has_left.wait(30)
            read = ask_views.ReadQuestion(
                asked, "reader", None, usage_limits.take_stream("key reader")
            )
            returned.append(weakref.ref(read))
            return read

        async def leave():
            answering = asyncio.create_task(ask_views.answer_question(rf.get("/api/v1/ask")))
            await asyncio.to_thread(is_reading.wait, 30)
            answering.cancel()
            await asyncio.wait([answering])
            has_left.set()
            while not returned or returned[0]() is not None:
                await asyncio.sleep(0.01)

        monkeypatch.setattr(ask_views, "_read", read)
        asyncio.run(asyncio.wait_for(leave(), 60))

        assert usage_limits.take_stream("key reader")

    def test_count_the_calls_of_the_language_model(self, ask, settings, endpoint):
        settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_MODEL = endpoint.url, "a-model"
        settings.STRATA_KEY_MODEL_CALLS_PER_DAY = 1
        factories.give(TIDE)
        factories.sync(IndexBuild.objects.get(index="plain"), *Artifact.objects.all())

        answer = ask().getvalue()
        second = ask()

        assert b"before dawn" in answer
        assert second.status_code == 429
        assert second.json()["code"] == "model_use_spent"
        assert int(second.headers["Retry-After"]) > 0
        assert len(endpoint.requests) == 1


@pytest.mark.django_db(transaction=True)
def test_events_are_sent_under_wsgi(client, build):
    """Under WSGI."""
    secret = ApiKey.issue("tests")[1]

    answer = client.post(
        "/api/v1/ask",
        {"index": "plain", "query": "When do boats leave?"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )

    events = list(read_events(answer.getvalue().decode().split("\n")))
    assert [events[0][1], events[-1][1]] == ["metadata", "done"]
