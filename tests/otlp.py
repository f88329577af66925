"""A receiver of OTLP over HTTP on loopback, which keeps the spans that it gets."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from core import stages

WAIT_SECONDS = 60
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100"}  # milliseconds until spans are sent
AT_THE_END = {"OTEL_BSP_SCHEDULE_DELAY": "3600000"}  # of a process


def require_traces() -> None:
    """Continuous integration installs the extra; elsewhere it is optional."""
    try:
        import opentelemetry.exporter.otlp.proto.http  # noqa: F401
    except ImportError:
        reason = "Needs the packages of `strata install traces`."
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@dataclass(frozen=True)
class ReceivedSpan:
    name: str
    id: str
    parent_id: str
    trace_id: str
    attributes: dict[str, Any]
    is_error: bool
    service_name: str

    @property
    def kind(self) -> str:
        return str(self.attributes["openinference.span.kind"])


class Receiver(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []
        self.status = 200
        self.refused_count = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def spans(self) -> list[ReceivedSpan]:
        return [span for body in list(self.bodies) for span in read_spans(body)]

    def wait_for(self, trace_id: str, *names: str) -> list[ReceivedSpan]:
        """The spans of a trace, once those with these names have come."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            found = [span for span in self.spans if span.trace_id == trace_id]
            if {*names} <= {span.name for span in found}:
                return found
            assert time.monotonic() < deadline, [span.name for span in found]
            time.sleep(0.05)


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces" and self.server.status == 200:
            self.server.bodies.append(body)
        else:
            self.server.refused_count += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


def read_spans(body: bytes) -> Iterator[ReceivedSpan]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        of_resource = {each.key: each.value.string_value for each in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    span.name,
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.trace_id.hex(),
                    {each.key: _read_value(each.value) for each in span.attributes},
                    span.status.code == 2,
                    of_resource["service.name"],
                )


def _read_value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_read_value(each) for each in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Receive spans in a thread until the block ends."""
    with Receiver() as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield receiver
        finally:
            receiver.shutdown()


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The spans of this process, in the order in which they ended."""
    require_traces()
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    ended: list[Any] = []
    exporter = InMemorySpanExporter()
    monkeypatch.setattr(exporter, "export", ended.extend)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(stages, "_get_tracer", lambda: provider.get_tracer("tests"))
    return ended
