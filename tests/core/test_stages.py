"""Stages of the work, and their spans."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.metrics import STAGE_SECONDS
from core.stages import describe, describe_documents, keep_span, span, stage
from tests.otlp import finished

__all__ = ["finished"]  # a fixture


def count(name: str) -> float:
    samples = [sample for metric in STAGE_SECONDS.collect() for sample in metric.samples]
    return sum(
        sample.value
        for sample in samples
        if sample.name.endswith("_count") and sample.labels["stage"] == name
    )


class TestStage:
    def test_is_timed_without_spans(self):
        before, took_ms = count("tested"), {"tested": 0.0}

        for _ in range(2):
            with stage("tested", took_ms=took_ms) as opened:
                opened.set_attribute("strata.ignored", 1)

        assert count("tested") == before + 2
        assert took_ms["tested"] > 0

    def test_makes_a_span_of_its_kind_below_the_one_around_it(self, finished):
        with stage("outer"), stage("inner", "RETRIEVER"):
            describe({"strata.index": "plain"})

        inner, outer = finished
        assert inner.parent.span_id == outer.context.span_id
        assert inner.attributes == {
            "openinference.span.kind": "RETRIEVER",
            "strata.index": "plain",
        }

    def test_names_an_error_and_not_its_message(self, finished):
        with pytest.raises(ValueError, match="herons"), stage("tested"):
            raise ValueError("Where do herons nest?")

        [failed] = finished
        assert (failed.status.is_ok, failed.status.description) == (False, "ValueError")
        assert "herons" not in failed.to_json()

    def test_of_a_model_may_end_in_another_context(self, finished, caplog):
        async def stream():
            with stage("language_model", "LLM"):
                yield "piece"

        async def read_some() -> None:
            pieces = stream()
            await asyncio.create_task(anext(pieces))
            await asyncio.create_task(pieces.aclose())

        asyncio.run(read_some())

        assert [each.name for each in finished] == ["language_model"]
        assert finished[0].status.description is None
        assert caplog.messages == []


class TestKeepSpan:
    def test_continues_the_span_in_a_thread(self, finished):
        def work() -> None:
            with stage("in a thread"):
                pass

        with ThreadPoolExecutor(1) as threads:
            with span("request"):
                threads.submit(keep_span(work)).result()
            threads.submit(work).result()

        inner, request, alone = finished
        assert inner.parent.span_id == request.context.span_id
        assert alone.parent is None


class TestDescribe:
    def test_renames_the_span_around_it(self, finished):
        with span("request"):
            describe({"http.route": "/api/v1/ask"}, name="POST /api/v1/ask")

        [request] = finished
        assert request.name == "POST /api/v1/ask"
        assert request.attributes["http.route"] == "/api/v1/ask"


class TestDescribeDocuments:
    def test_fits_into_a_span(self, finished):
        with stage("retriever", "RETRIEVER"):
            found = ((f"node {rank}", 1 / (rank + 1)) for rank in range(100))
            describe_documents("retrieval.documents", found)

        [retrieved] = finished
        assert retrieved.dropped_attributes == 0
        assert retrieved.attributes["retrieval.documents.39.document.id"] == "node 39"
        assert "retrieval.documents.40.document.id" not in retrieved.attributes
