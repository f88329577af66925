"""Effects of a Qdrant server that refuses requests on work, searches and health checks."""

import time

import pytest
from django.core.management import call_command

from indexing import tasks
from indexing.models import IndexBuild, Node
from indexing.services import plan_nodes
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.qdrant_loopback.faults import Action
from tests.qdrant_loopback.process import qdrant_loopback

KEY_FIX = "Set QDRANT_API_KEY to a key that may read, write and manage collections there."
# Name -> status, text and Retry-After of the server; code and part of the user's message.
REFUSALS = {
    "a wrong key": (401, "Invalid API key or JWT", None, "store_refused", KEY_FIX),
    "a key that may only read": (
        403, "Forbidden: Global manage access is required", None, "store_refused", KEY_FIX,
    ),
    "another server": (404, "", None, "store_refused", "Set QDRANT_URL to the address"),
    "strict mode": (
        400, 'Bad request: Limit exceeded 3 > 2 for "upsert limit".', None,
        "store_refused", 'Limit exceeded 3 > 2 for "upsert limit"',
    ),
    "a rate limit": (
        429, "Rate limiting exceeded: Retry after 20s", 20, "store_busy", "Retry after 20s",
    ),
    "a dead node": (500, "1 of 1 read operations failed", None, "store_unavailable", "1 of 1"),
}  # fmt: skip


@pytest.fixture(scope="module")
def server():
    with qdrant_loopback() as server:
        yield server


@pytest.fixture
def qdrant_url(server):
    return server.url


@pytest.fixture(autouse=True)
def on_qdrant(settings):
    settings.STRATA_VECTOR_STORE = "qdrant"
    settings.QDRANT_API_KEY, settings.QDRANT_TIMEOUT_SECONDS = "", 10


@pytest.fixture(params=REFUSALS)
def refusal(request):
    return REFUSALS[request.param]


@pytest.fixture
def waits_until(monkeypatch):
    """When the sync worker asks a busy store again, by build."""
    monkeypatch.setattr(tasks.sync_worker, "_waits_until", {})
    return tasks.sync_worker._waits_until


@pytest.fixture
def refused(build, server, refusal, waits_until):
    """A build with a pending and a synced node; its server refuses every request."""
    sync(build, give("A heron waits in the shallows."))
    plan_nodes(give("Reeds grow by the weir.").pk, build)
    status, detail, retry_after, *_ = refusal
    server.fault(Action.FAIL, count=1_000, status=status, detail=detail, retry_after=retry_after)
    yield build
    server.heal()


class TestARefusal:
    def test_costs_no_attempt_and_work_continues_afterwards(
        self, refused, server, refusal, waits_until
    ):
        *_, told = refusal
        for _ in range(7):
            tasks.sync_worker.run(refused.pk)
        waiting = Node.objects.get(state=Node.State.PENDING)
        problem = IndexBuild.objects.get(pk=refused.pk).problem

        server.heal()
        waits_until.clear()  # the time has passed
        tasks.sync_worker.run(refused.pk)

        assert (waiting.attempts, waiting.last_error != "") == (0, True)
        assert told in problem
        assert IndexBuild.objects.get(pk=refused.pk).problem == ""
        assert get_store().count(refused.collection("chunk")) == 2
        assert verify_build(refused).is_sound

    def test_is_reported_to_searches_with_its_code_and_fix(self, refused, refusal):
        _, _, retry_after, code, told = refusal

        answer = client_with_key().get("/api/v1/search/pages?index=plain&q=heron")

        assert (answer.status_code, answer.json()["code"]) == (503, code)
        assert told in f"{answer.json()['detail']} {answer.json().get('fix')}"
        assert answer["Retry-After"] == str(retry_after or 5)

    def test_makes_the_service_not_ready_and_is_a_finding_of_doctor(
        self, refused, refusal, client, capsys
    ):
        *_, told = refusal

        ready = client_with_key().get("/health/ready")
        with pytest.raises(SystemExit):
            call_command("doctor", port=0)

        assert (ready.status_code, told in ready.json()["checks"]["vectors"]) == (503, True)
        [line] = [line for line in capsys.readouterr().out.splitlines() if "fail vectors" in line]
        assert told in line


@pytest.mark.parametrize("refusal", [REFUSALS["a rate limit"]])
class TestARateLimit:
    def test_is_waited_for_as_long_as_the_server_says(self, refused, server, monkeypatch):
        tasks.sync_worker.run(refused.pk)
        server.heal()

        tasks.sync_worker.run(refused.pk)
        waiting = Node.objects.filter(state=Node.State.PENDING).count()
        now = time.monotonic()
        monkeypatch.setattr("indexing.workers.time.monotonic", lambda: now + 20)
        tasks.sync_worker.run(refused.pk)

        assert waiting == 1
        assert not Node.objects.filter(state=Node.State.PENDING).exists()
