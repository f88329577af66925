"""The trace of an upload through a web server and workers that fork."""

import pytest

from tests.otlp import AT_THE_END, receiving, require_traces
from tests.servers.test_workers import QUICK, SYNCED_SECONDS, production

__all__ = ["production"]  # a fixture

pytestmark = pytest.mark.django_db(transaction=True)

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize("production", [QUICK], indirect=True)
class TestUpload:
    def test_is_one_trace_of_all_processes(self, production):
        require_traces()
        with receiving() as receiver:
            production.environment |= {**AT_THE_END, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
            production.api.headers["traceparent"] = f"00-{TRACE_ID}-00f067aa0ba902b7-01"
            with (
                production.web(),
                production.worker("planning", "documents"),
                production.worker("indexing"),
            ):
                artifact_id = production.upload("buoy.txt", "The buoy reported a swell.")
                production.wait_until_ready([artifact_id], SYNCED_SECONDS)

            spans = receiver.wait_for(TRACE_ID, "read", "plan", "sync", "write")

        parents = {span.id: span.parent_id for span in spans}
        [uploaded] = [span.id for span in spans if span.name.startswith("POST")]
        for span in spans:
            if span.name in {"read", "plan", "sync"}:
                assert span.attributes["strata.artifact_ids"] == [artifact_id]
                above = span.id
                while parents.get(above, uploaded) != uploaded:
                    above = parents[above]
                assert parents[above] == uploaded
