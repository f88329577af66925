"""The limits of the web server in the embedded form."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from access.passwords import MAX_WAITING
from tests.faults.armed import armed
from tests.language_models.test_llm import (
    Endpoint,
    Handler,
    delta,
    on_and_on,
    running_endpoint,
    streams,
)
from tests.limits.held_passwords import HOLD
from tests.limits.web_server import TestWebServerLimits, WebServer, wait_until
from tests.serving import KEY

PATIENCE_SECONDS = 120
LOGINS = 20
TIDE = "The tide turns at noon. Boats leave the harbour before dawn."
QUESTION = {"index": "plain", "query": "When do boats leave the harbour?"}


def endlessly(handler: Handler) -> None:
    """Send more than any buffer holds, until the client disconnects."""
    handler.send(200, "", Content_Type="text/event-stream")
    while True:
        handler.send_event(delta("word " * 2_000))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as server:
        yield server


@pytest.fixture(scope="module")
def service(endpoint, tmp_path_factory):
    settings = {
        "DJANGO_SETTINGS_MODULE": "tests.limits.embedded_settings",
        "STRATA_LLM_BASE_URL": endpoint.url,
        "STRATA_LLM_MODEL": "a-model",
        "STRATA_LLM_RETRIES": "0",
    }
    with armed(tmp_path_factory.mktemp("limits"), **settings) as service:
        service.add("plain", text=TIDE, title="Harbour")
        yield service


@pytest.fixture
def server(service) -> WebServer:
    return WebServer(service.port, KEY, service.process.pid, service.process.pid)


class TestStreams:
    def test_are_limited_in_number(self, service, endpoint):
        endpoint.scripts = [streams("Boats ", then=on_and_on)]
        with (
            service.api.stream("POST", "ask", json=QUESTION) as first,
            service.api.stream("POST", "ask", json=QUESTION) as second,
        ):
            assert (first.status_code, second.status_code) == (200, 200)

            refused = service.api.post("ask", json=QUESTION)

        assert refused.status_code == 503
        assert refused.json()["code"] == "too_many_streams"
        assert int(refused.headers["Retry-After"]) > 0
        endpoint.scripts = [streams("Boats.")]

        def is_answered() -> bool:
            response = service.api.post("ask", json=QUESTION, timeout=PATIENCE_SECONDS)
            return isinstance(response, httpx.Response) and response.status_code == 200

        wait_until(is_answered)

    def test_end_if_the_client_does_not_read(self, service, endpoint, server):
        endpoint.scripts = [endlessly]
        endpoint.broken.clear()
        body = b'{"index": "plain", "query": "When do boats leave the harbour?"}'
        with closing(server.connect(receive_bytes=4_096)) as client:
            client.sendall(server.head("POST /api/v1/ask", f"Content-Length: {len(body)}",
                                     "Content-Type: application/json") + body)  # fmt: skip

            assert endpoint.broken.wait(PATIENCE_SECONDS)


class TestLogins:
    """Twenty at once: most are refused, a few wait for their turn, and others are answered."""

    def test_in_parallel_do_not_block_the_server(self, service, server):
        hold = service.data_dir / HOLD
        hold.touch()
        with (
            httpx.Client(base_url=service.url, timeout=PATIENCE_SECONDS, trust_env=False) as client,
            ThreadPoolExecutor(LOGINS) as people,
        ):
            token = client.get("/sign-in/").cookies["csrftoken"]
            form = {"username": "nobody", "password": "guess", "csrfmiddlewaretoken": token}
            logins = [people.submit(client.post, "/sign-in/", data=form) for _ in range(LOGINS)]
            try:
                wait_until(lambda: sum(each.done() for each in logins) == LOGINS - 1 - MAX_WAITING)

                assert service.api.get("indexes/").status_code == 200
                assert server.is_live()
            finally:
                hold.unlink()
            answers = [each.result() for each in logins]

        statuses = Counter(each.status_code for each in answers)
        assert statuses == {503: LOGINS - 1 - MAX_WAITING, 403: 1 + MAX_WAITING}
        refused = next(each for each in answers if each.status_code == 503)
        assert refused.headers["Retry-After"] == "2"


class TestEmbeddedWebServer(TestWebServerLimits):
    __test__ = True
