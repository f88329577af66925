"""Sends spans as OTLP over HTTP where OpenTelemetry's own variables name a receiver.

The provider is Strata's own, not the global one, with which libraries would send what they are
called with. It is made at a process's first span, after it was forked.
"""

import atexit
import logging
import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from celery import Task

from config.environment import read_url
from core.stages import inject_span, send_spans, span

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.trace import Tracer

logger = logging.getLogger(__name__)

ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
FLUSH_SECONDS = 2.0  # at the end of a process; spans that were not sent by then are lost

_lock = threading.Lock()


def start_tracing() -> None:
    """Send spans, if a variable names a receiver."""
    name = next((name for name in ENDPOINT_VARIABLES if read_url(name)), None)
    if name is None:
        return
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter  # noqa: F401
    except ImportError:
        logger.warning(
            "%s is set, but no traces are sent, because a package is missing: strata "
            "install traces",
            name,
        )
        return
    send_spans(_get_tracer)


def _get_tracer() -> "Tracer":
    with _lock:  # so that two threads do not both make a provider
        return _get_provider().get_tracer("strata")


@cache
def _get_provider() -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

    class Exporter(OTLPSpanExporter):
        """Logs once that a receiver does not take spans, not for each batch."""

        is_failing = False

        def export(self, spans: "Sequence[ReadableSpan]") -> SpanExportResult:
            result = super().export(spans)
            if not self.is_failing and result is not SpanExportResult.SUCCESS:
                logger.warning(
                    "Spans cannot be sent and are dropped: is an OTLP receiver running at the URL "
                    "that OTEL_EXPORTER_OTLP_ENDPOINT names?"
                )
            self.is_failing = result is not SpanExportResult.SUCCESS
            return result

    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
    service_name = os.environ.get("OTEL_SERVICE_NAME") or "strata"
    provider = TracerProvider(
        resource=Resource.create({SERVICE_NAME: service_name}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(Exporter()))
    atexit.register(flush_spans)
    return provider


def flush_spans(**kwargs: Any) -> None:
    """Send the last spans before a process ends, for which an unreachable receiver has little
    time."""
    if _get_provider.cache_info().currsize:
        thread = threading.Thread(target=_get_provider().force_flush, daemon=True)
        thread.start()
        thread.join(FLUSH_SECONDS)


class TracedTask(Task):
    """A task whose message names the span that sent it, and whose span is below that one."""

    def apply_async(self, *args: Any, **options: Any) -> Any:
        headers = inject_span(options.pop("headers", None) or {})
        return super().apply_async(*args, headers=headers, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        traceparent = self.request.get("traceparent")
        if traceparent is None and self.name in self.app.conf.beat_schedule:  # most find nothing
            return super().__call__(*args, **kwargs)
        with span(self.name, headers={"traceparent": traceparent or ""}):
            return super().__call__(*args, **kwargs)
