"""The synchronous client, generated from the asynchronous one: each method sends what its twin
sends and returns what it returns, without an event loop."""

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from strata_client import (
    AnswerStream,
    AsyncAnswerStream,
    AsyncStrata,
    Done,
    InvalidRequest,
    Metadata,
    NotReady,
    Strata,
    Unavailable,
)
from strata_client._sync import connection, polling, streaming
from tests.client.scripted import (
    URL,
    CutAfterAPiece,
    Pieces,
    Script,
    answers,
    artifact,
    event,
    refuses,
    streams,
    streams_from,
)
from tests.serving import KEY

PARTS = ["", "concepts", "evaluations", "evidence", "relationships"]
GIVEN = {  # for the required parameters of all methods; any other gets its own name
    "artifact_ids": ["a1", "a2"],
    "concept_ids": ["c1", "c2"],
    "documents": [{"text": "Tides turn."}],
    "end": 9,
    "items": [{"url": "https://a.example", "content": "Tides turn."}],
    "key_id": 7,
    "number": 0,
    "others": ["c2"],
    "start": 4,
    "texts": ["Tides turn."],
    "urls": ["https://a.example"],
}
CONTENT: dict[tuple[str, str], dict[str, Any]] = {  # of which these methods need one kind
    ("", "add"): {"text": "Tides turn."},
    ("", "replace"): {"pages": ["Tides", "turn."]},
}
ANSWER = {  # what any method reads from an answer
    "boxes": [{"x": 0.5}], "error": None, "hits": [{"similarity": 0.9}], "id": "a1",
    "line": 1, "reports": [], "results": [{"name": "plain"}], "state": "done", "status": "ready",
    "vectors": [[0.6, 0.8]], "verdicts": [{"verdict": "added"}],
}  # fmt: skip
FOUND = event("metadata", {"hits": [], "index": "plain"}, id="x.0")
BOATS = event("chunk", {"text": "Boats "}, id="x.6")
LEAVE = event("chunk", {"text": "leave."}, id="x.12")
END = event("done", {"citations": [], "model_name": None}, id="x.end")
CUT = httpx.RemoteProtocolError("incomplete chunked read")


def get_part(client: Any, part: str) -> Any:
    return getattr(client, part) if part else client


def list_methods() -> list[tuple[str, str]]:
    with Strata(URL) as strata:
        return [
            (part, name)
            for part in PARTS
            for name in dir(get_part(strata, part))
            if name[0] != "_" and inspect.ismethod(getattr(get_part(strata, part), name))
        ]


def make_arguments(method: Any, part: str, name: str) -> dict[str, Any]:
    required = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    return {each: GIVEN.get(each, each) for each in required} | CONTENT.get((part, name), {})


async def ask_asynchronous(script: Script, part: str, name: str) -> Any:
    async with AsyncStrata(URL, "a-key", transport=script) as strata:
        method = getattr(get_part(strata, part), name)
        called = method(**make_arguments(method, part, name))
        return await called if inspect.isawaitable(called) else [event async for event in called]


def ask_synchronous(script: Script, part: str, name: str) -> Any:
    with Strata(URL, "a-key", transport=script) as strata:
        method = getattr(get_part(strata, part), name)
        called = method(**make_arguments(method, part, name))
        return list(called) if inspect.isgenerator(called) or name == "ask" else called


@pytest.fixture
def waits(monkeypatch):
    """Record the seconds of sleep instead of sleeping."""
    slept: list[float] = []
    for module in (connection, polling, streaming):
        monkeypatch.setattr(module, "sleep", slept.append)
    return slept


class TestMethods:
    @pytest.mark.parametrize(
        ("part", "name"), [row for row in list_methods() if row != ("", "close")]
    )
    def test_send_and_return_the_same_as_the_asynchronous_ones(self, part, name):
        if name in {"ask", "answer"}:
            scripts = [Script(streams(FOUND, BOATS, LEAVE, END)) for _ in range(2)]
        else:
            scripts = [Script(answers(200, ANSWER)) for _ in range(2)]

        answer = ask_synchronous(scripts[0], part, name)

        assert answer == asyncio.run(ask_asynchronous(scripts[1], part, name))
        assert scripts[0].requests
        assert scripts[0].asked == scripts[1].asked
        for request, other in zip(scripts[0].requests, scripts[1].requests, strict=True):
            assert (request.content, request.headers) == (other.content, other.headers)

    @pytest.mark.parametrize("part", PARTS)
    def test_have_the_same_names_and_parameters(self, part):
        asynchronous = AsyncStrata(URL)
        with Strata(URL) as strata:
            twins = [
                {
                    name.removeprefix("a") if name == "aclose" else name: list(
                        inspect.signature(getattr(each, name)).parameters
                    )
                    for name in dir(each)
                    if name[0] != "_" and inspect.ismethod(getattr(each, name))
                }
                for each in (get_part(strata, part), get_part(asynchronous, part))
            ]

        assert twins[0] == twins[1]

    def test_of_a_stream_have_the_same_names(self):
        names = {name.replace("aclose", "close") for name in dir(AsyncAnswerStream)}

        assert {name for name in names if name[0] != "_"} == {
            name for name in dir(AnswerStream) if name[0] != "_"
        }

    def test_read_a_file(self, tmp_path):
        path = tmp_path / "tides.md"
        path.write_bytes(b"# Tides\n")
        script = Script(answers(202, artifact("received")))
        with Strata(URL, transport=script) as strata:
            strata.add("plain", file=path, metadata={"year": 2024})

        [request] = script.requests
        assert b'filename="tides.md"' in request.content
        assert b"# Tides\n" in request.content


class TestWaiting:
    def test_sleeps_between_two_reads(self, waits):
        states = ["received", "parsing", "ready"]
        script = Script(*(answers(200, artifact(state)) for state in states))
        with Strata(URL, transport=script) as strata:
            assert strata.wait_until_ready("a1")["status"] == "ready"

        assert len(waits) == 2
        assert waits == sorted(waits)

    def test_ends_after_the_timeout(self, waits):
        script = Script(answers(200, artifact("indexing")))
        with Strata(URL, transport=script) as strata, pytest.raises(NotReady, match="indexing"):
            strata.wait_until_ready("a1", timeout=0)

        assert waits == []

    def test_retries_as_the_server_asks(self, waits):
        script = Script(refuses(429, retry_after="7"), answers(200, {"name": "plain"}))
        with Strata(URL, transport=script) as strata:
            assert strata.index("plain") == {"name": "plain"}

        assert script.asked == ["GET indexes/plain/"] * 2
        assert waits[0] >= 7

    def test_raises_what_the_server_refuses(self, waits):
        script = Script(refuses(400, field="mode"))
        with Strata(URL, transport=script) as strata, pytest.raises(InvalidRequest) as raised:
            strata.search("plain", "tides")

        assert raised.value.field == "mode"
        assert waits == []


@pytest.mark.usefixtures("waits")
class TestStream:
    def test_continues_after_the_last_received_event(self, waits):
        script = Script(streams(FOUND, BOATS, CUT), streams(LEAVE, END))
        with Strata(URL, transport=script) as strata, strata.ask("plain", "When?") as events:
            first, *_, last = events

        assert (type(first), type(last)) == (Metadata, Done)
        assert events.text == "Boats leave."
        assert script.requests[1].headers["Last-Event-ID"] == "x.6"
        assert len(waits) == 1

    def test_is_given_up_after_three_resumptions(self):
        script = Script(streams(FOUND, CUT), *(streams(BOATS, CUT) for _ in range(9)))
        with Strata(URL, transport=script) as strata, pytest.raises(Unavailable) as raised:
            strata.answer("plain", "When?")

        assert raised.value.code == "answer_cut"
        assert len(script.requests) == 4

    @pytest.mark.parametrize("in_a_block", [True, False])
    def test_closes_its_connection_when_it_is_left(self, in_a_block):
        body = Pieces(FOUND, BOATS, LEAVE, END)
        with Strata(URL, transport=Script(streams_from(body))) as strata:
            if in_a_block:
                with strata.ask("plain", "When?") as events:
                    next(events)
            else:
                for _ in strata.ask("plain", "When?"):
                    break

            assert body.is_closed


class TestClient:
    def test_sends_no_request_once_it_is_closed(self):
        strata = Strata(URL, transport=Script(answers(200, ANSWER)))
        strata.close()

        with pytest.raises(RuntimeError, match="closed"):
            strata.indexes()

    def test_serves_several_threads_at_once(self):
        together = threading.Barrier(4, timeout=20)

        def answer(request: httpx.Request) -> httpx.Response:
            together.wait()  # breaks unless four requests are under way
            return answers(200, {"name": request.url.path.split("/")[-2]})

        names = ["one", "two", "three", "four"]
        transport = httpx.MockTransport(answer)
        with Strata(URL, transport=transport) as strata, ThreadPoolExecutor(4) as threads:
            indexes = list(threads.map(strata.index, names))

        assert [index["name"] for index in indexes] == names

    def test_adds_searches_and_continues_an_answer_of_a_real_server(self, service):
        transport = CutAfterAPiece()
        with Strata(service.url, KEY, transport=transport) as strata:
            added = strata.add(
                "plain", text="The ferry to Ven leaves at noon.", external_id="ferry"
            )
            strata.wait_until_ready(added["id"], timeout=120)
            [hit] = strata.search("plain", "ferry to Ven", limit=1)["hits"]
            stream = strata.ask("plain", "When does the ferry to Ven leave?")
            kinds = [type(event) for event in stream]

        assert (hit["text"], hit["verdict"]) == ("The ferry to Ven leaves at noon.", "exact")
        assert len(transport.ids_sent) == 2
        assert transport.ids_sent[1] is not None
        assert kinds.count(Metadata) == 1
        assert "leaves at noon" in stream.text
