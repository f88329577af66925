"""The spans of a served search, answer and upload, as a receiver of OTLP gets them."""

import re
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from config import tracing
from tests.forked import ForkedService, serving_forked
from tests.language_models.test_llm import running_endpoint, streams
from tests.otlp import (
    AT_THE_END,
    SOON,
    WAIT_SECONDS,
    ReceivedSpan,
    Receiver,
    receiving,
    require_traces,
)
from tests.serving import KEY

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER_ID = "00f067aa0ba902b7"
PASSAGE = "The lighthouse keeper trims the wick of the lamp at dusk."
QUESTION = "When does the lighthouse keeper trim the wick?"
REPLY = "He trims it at dusk [1]."
PRIVATE = [PASSAGE, QUESTION, REPLY, "lighthouse", "wick", "trims", KEY]


def traceparent(number: int) -> dict[str, str]:
    return {"traceparent": f"00-{make_trace_id(number)}-{CALLER_ID}-01"}


def make_trace_id(number: int) -> str:
    return f"{TRACE_ID[:-1]}{number:x}"


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    require_traces()
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def service(tmp_path_factory, receiver) -> Iterator[ForkedService]:
    with running_endpoint() as model:
        model.scripts = [streams(*REPLY.split(" "))]
        settings = {
            **SOON,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "STRATA_LLM_BASE_URL": model.url,
            "STRATA_LLM_MODEL": "a-model",
        }
        with serving_forked(tmp_path_factory.mktemp("traced"), **settings) as service:
            yield service


@pytest.fixture(scope="module")
def artifact_id(service) -> str:
    """A document that was uploaded in the trace 1."""
    given = {"file": ("keeper.txt", PASSAGE.encode())}
    uploaded = service.api.post("indexes/plain/artifacts/", files=given, headers=traceparent(1))
    return service.wait_until_ready(uploaded)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def draw(spans: list[ReceivedSpan], parent_id: str = CALLER_ID) -> list[object]:
    """The tree below a span: name, kind and what is below, by name."""
    below = sorted((span.name, span.kind, span.id) for span in spans if span.parent_id == parent_id)
    return [[name, kind, *draw(spans, id)] for name, kind, id in below]


def find(spans: list[ReceivedSpan], name: str) -> ReceivedSpan:
    return next(span for span in spans if span.name == name)


class TestSearch:
    def test_is_one_tree_below_the_caller_s_span(self, service, receiver, artifact_id):
        asked = {"index": "plain", "q": QUESTION}
        answer = service.api.get("search/pages", params=asked, headers=traceparent(2)).json()

        spans = receiver.wait_for(make_trace_id(2), "GET /api/v1/search/pages")
        assert draw(spans) == [
            [
                "GET /api/v1/search/pages", "CHAIN",
                [
                    "retriever", "RETRIEVER",
                    ["embed", "CHAIN", ["embedding_model", "EMBEDDING"]],
                    ["search", "CHAIN"],
                    ["verify", "CHAIN"],
                ],
            ]
        ]  # fmt: skip
        [hit] = answer["hits"]
        retrieved = find(spans, "retriever").attributes
        assert retrieved["retrieval.documents.0.document.id"] == hit["node_id"]
        assert retrieved["retrieval.documents.0.document.score"] == pytest.approx(hit["score"])
        assert retrieved["strata.index"] == ["plain"]
        embedded = find(spans, "embedding_model").attributes
        assert embedded["embedding.model_name"] == "all-MiniLM-L6-v2"
        assert embedded["strata.text_count"] == 1

    def test_says_what_was_requested_and_answered(self, service, receiver, artifact_id):
        asked = {"index": "no-such-index", "q": QUESTION}
        answer = service.api.get("search/pages", params=asked, headers=traceparent(3))

        spans = receiver.wait_for(make_trace_id(3), "GET /api/v1/search/pages")
        request = find(spans, "GET /api/v1/search/pages")
        assert request.service_name == "strata"
        assert request.attributes["http.response.status_code"] == answer.status_code == 404
        assert request.attributes["strata.request_id"] == answer.headers["X-Request-ID"]
        assert find(spans, "retriever").is_error


class TestAnswer:
    def test_is_one_tree_with_the_call_of_the_language_model(self, service, receiver, artifact_id):
        asked = {"index": "plain", "query": QUESTION}
        answer = service.api.post("ask", json=asked, headers=traceparent(4))
        assert "done" in answer.text

        spans = receiver.wait_for(make_trace_id(4), "POST /api/v1/ask")
        [[name, kind, *below]] = draw(spans)
        assert (name, kind) == ("POST /api/v1/ask", "CHAIN")
        assert ["language_model", "LLM"] in below
        assert "retriever" in [child[0] for child in below]
        written = find(spans, "language_model").attributes
        assert written["llm.model_name"] == "a-model"
        assert written["llm.token_count.prompt"] > 0
        assert written["llm.token_count.completion"] > 0


class TestUpload:
    def test_is_one_trace_from_the_request_to_the_written_points(
        self, service, receiver, artifact_id
    ):
        spans = receiver.wait_for(
            make_trace_id(1), "POST /api/v1/indexes/<index>/artifacts", "indexing.tasks.sync_nodes"
        )

        [[name, kind, *below]] = draw(spans)
        assert (name, kind) == ("POST /api/v1/indexes/<index>/artifacts", "CHAIN")
        [read] = below
        assert read[0] == "documents.tasks.parse_artifact"
        assert ["read", "CHAIN"] in read
        [planned] = [child for child in read if child[0] == "indexing.tasks.plan_build"]
        assert ["plan", "CHAIN"] in planned
        [synced] = [child for child in planned if child[0] == "indexing.tasks.sync_nodes"]
        assert [
            "sync", "CHAIN", ["embedding_model", "EMBEDDING"], ["write", "CHAIN"]
        ] in synced  # fmt: skip
        for name in ("read", "plan", "sync"):
            assert find(spans, name).attributes["strata.artifact_ids"] == [artifact_id]


class TestEverySpan:
    def test_holds_no_text_no_query_and_no_key(self, service, receiver, artifact_id):
        headers = traceparent(5)
        service.api.get("search/pages", params={"index": "plain", "q": QUESTION}, headers=headers)
        asked = {"index": "plain", "query": QUESTION}
        service.api.post("ask", json=asked, headers=headers).raise_for_status()
        receiver.wait_for(make_trace_id(5), "GET /api/v1/search/pages", "POST /api/v1/ask")
        receiver.wait_for(make_trace_id(1), "sync")

        sent = b"".join(receiver.bodies)
        assert b"retriever" in sent
        assert [text for text in PRIVATE if text.lower().encode() in sent.lower()] == []

    def test_has_the_names_of_openinference(self, service, receiver, artifact_id):
        from openinference.semconv import trace

        asked = {"index": "plain", "query": QUESTION}
        service.api.post("ask", json=asked, headers=traceparent(8)).raise_for_status()
        receiver.wait_for(make_trace_id(8), "POST /api/v1/ask", "language_model")
        names = {
            value
            for attributes in (trace.SpanAttributes, trace.DocumentAttributes)
            for value in vars(attributes).values()
        }
        used = {name for span in receiver.spans for name in span.attributes}
        parts = {
            part
            for name in used
            if not name.startswith(("strata.", "http."))
            for part in re.split(r"\.\d+\.", name)
        }
        assert len(parts) > 5
        assert parts <= names
        kinds = {kind.value for kind in trace.OpenInferenceSpanKindValues}
        assert {span.kind for span in receiver.spans} <= kinds


class TestReceiver:
    def test_that_fails_fails_no_request_and_is_logged_once(self, tmp_path):
        require_traces()
        with receiving() as receiver:
            receiver.status = 400
            settings = {**SOON, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
            with serving_forked(tmp_path, **settings) as service:
                for number in range(1, 4):
                    service.api.get("indexes/").raise_for_status()
                    wait_until(lambda: receiver.refused_count >= number)  # noqa: B023
                receiver.status = 200
                service.api.get("indexes/", headers=traceparent(6)).raise_for_status()
                receiver.wait_for(make_trace_id(6), "GET /api/v1/indexes")
            log = service.log.read_text()

        assert log.count("Spans cannot be sent") == 1
        assert "Traceback" not in log


class TestStop:
    def test_sends_the_last_spans(self, tmp_path):
        require_traces()
        with receiving() as receiver:
            settings = {**AT_THE_END, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
            with serving_forked(tmp_path, **settings) as service:
                service.api.get("indexes/", headers=traceparent(7)).raise_for_status()
                assert receiver.bodies == []

            receiver.wait_for(make_trace_id(7), "GET /api/v1/indexes")


class TestStart:
    def test_says_that_the_packages_are_missing(self, monkeypatch, caplog):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
        monkeypatch.setitem(
            sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None
        )

        tracing.start_tracing()

        [said] = caplog.messages
        assert said.startswith("OTEL_EXPORTER_OTLP_ENDPOINT is set, but no traces are sent")
        assert "strata install traces" in said

    def test_ends_the_process_if_the_address_is_no_url(self, monkeypatch):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")

        with pytest.raises(SystemExit, match="OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"):
            tracing.start_tracing()
