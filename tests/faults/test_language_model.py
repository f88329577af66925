"""The language model's endpoint stops while it is needed, and starts again."""

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from tests.faults.armed import armed
from tests.language_models.test_llm import Handler, says
from tests.serving import Service

DOCUMENTS = 12
PAGES = 3
CALLS = DOCUMENTS * (PAGES + 1)  # each page, each artifact
FIRST_CALLS = CALLS // 3  # answered before the fault
WAIT_SECONDS = 120


class Endpoint:
    """A fake model that summarises every text; it can be stopped and restarted on its port.

    It answers ``FIRST_CALLS`` calls and delays the others until it may continue.
    """

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()  # prompt -> complete answers
        self.may_answer = threading.Semaphore(FIRST_CALLS)
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    def start(self) -> None:
        endpoint = self

        class Answering(Handler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][-1]["content"]
                endpoint.may_answer.acquire()
                summary = (
                    f"It sums up a page as {hashlib.sha256(prompt.encode()).hexdigest()[:12]}."
                )
                says(json.dumps({"summary": summary}))(self)
                with endpoint._lock:
                    endpoint.answered[prompt] += 1

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Answering)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()

    def stop(self) -> None:
        """Answer the requests under way, and accept no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self.go_on()

    def go_on(self) -> None:
        self.may_answer.release(2 * CALLS)

    @property
    def count(self) -> int:
        with self._lock:
            return sum(self.answered.values())


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    endpoint.start()
    yield endpoint
    endpoint.stop()


@pytest.fixture
def service(tmp_path, endpoint) -> Iterator[Service]:
    model = {
        "STRATA_LLM_BASE_URL": f"http://127.0.0.1:{endpoint.port}/v1",
        "STRATA_LLM_MODEL": "m",
        "STRATA_LLM_RETRIES": "0",
    }
    with armed(tmp_path, **model) as service:
        yield service


def wait_until(is_so: Callable[[], bool], service: Service) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, service.log.read_text()
        time.sleep(0.1)


def give(service: Service) -> None:
    for number in range(DOCUMENTS):
        pages = [f"Ship {number} met whale {number * 10 + page} at sea." for page in range(PAGES)]
        document = {"title": f"Log {number}", "pages": pages}
        service.api.post("indexes/biomedical/artifacts/", json=document).raise_for_status()


def found(service: Service, sought: dict[str, Any]) -> list[dict[str, Any]]:
    return list(service.api.post("search/pages", json=sought).json()["hits"])


def ready_count(service: Service) -> int:
    answer = service.api.get("indexes/biomedical/artifacts/?status=ready&limit=1")
    return int(answer.json()["count"])


class TestAnEndpointThatStops:
    def test_only_delays_the_work_and_answers_each_request_once(self, service, endpoint):
        give(service)
        wait_until(lambda: endpoint.count == FIRST_CALLS, service)

        endpoint.stop()
        wait_until(
            lambda: service.api.get("indexes/biomedical/").json()["problem"] is not None, service
        )
        sought = {"index": "biomedical", "query": "Ship 7 met whale 71", "limit": 1}
        wait_until(lambda: bool(found(service, sought)), service)
        assert found(service, sought)[0]["text"] == "Ship 7 met whale 71 at sea."
        assert ready_count(service) < DOCUMENTS

        endpoint.start()
        service.api.post("reconcile/").raise_for_status()
        wait_until(lambda: ready_count(service) == DOCUMENTS, service)

        assert set(endpoint.answered.values()) == {1}
        assert endpoint.count == CALLS
        assert service.api.get("indexes/biomedical/").json()["problem"] is None
        service.verify("--index", "biomedical")


class TestAServiceKilledWhileAModelWrites:
    def test_continues_where_it_stopped(self, service, endpoint):
        give(service)
        wait_until(lambda: endpoint.count == FIRST_CALLS, service)

        service.kill()
        endpoint.go_on()
        service.start()
        wait_until(lambda: ready_count(service) == DOCUMENTS, service)

        # Only calls under way at that moment, four at most, may have been repeated.
        assert endpoint.count <= CALLS + 4
        assert set(endpoint.answered.values()) <= {1, 2}
        service.verify("--index", "biomedical")
