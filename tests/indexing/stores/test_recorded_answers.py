"""Each error that a Qdrant server was seen to answer: what users see, attempts, recovery."""

from typing import Any, NamedTuple

import pytest
from qdrant_client import models

from indexing import tasks
from indexing.models import IndexBuild, Node
from indexing.services import plan_nodes, retry_failed_nodes
from indexing.spec import StoreSpec
from indexing.stores import get_store
from indexing.stores.qdrant_collections import describe_lagging_replicas, find_changes
from indexing.verification import verify_build
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.qdrant_loopback.answers import read_answers
from tests.qdrant_loopback.faults import Action
from tests.qdrant_loopback.process import qdrant_loopback

COLLECTION = "plain.page_embeddings.1"


class Refusal(NamedTuple):
    status: int
    detail: str
    is_json: bool
    retry_after: int | None

    @property
    def expected(self) -> tuple[int, str]:
        """Status and code of the answer to a search."""
        if self.status == 429:
            return 503, "store_busy"
        if self.status >= 500:
            return 503, "store_unavailable"
        is_about_setup = not self.detail or self.detail.startswith("Bad request:")
        if self.status in {401, 403} or is_about_setup:
            return 503, "store_refused"
        return 502, "store_rejected"


def read_refusals() -> dict[str, Refusal]:
    """Case -> refusal; equal ones once. ``test_losses.py`` has absent collections."""
    cases: dict[Refusal, str] = {}
    for answer in [*read_answers("one-node"), *read_answers("cluster")]:
        if answer["status"] < 400:
            continue
        given = answer["answer"]
        detail = given if isinstance(given, str) else given["status"]["error"]
        headers = answer.get("headers") or {}
        if "Collection `none`" in detail:
            continue
        refusal = Refusal(
            answer["status"],
            detail,
            not isinstance(given, str),
            int(headers["retry-after"]) if "retry-after" in headers else None,
        )
        cases.setdefault(refusal, answer["case"])
    return {case: refusal for refusal, case in cases.items()}


REFUSALS = read_refusals()


@pytest.fixture(scope="module")
def server():
    with qdrant_loopback() as server:
        yield server


@pytest.fixture
def qdrant_url(server):
    return server.url


@pytest.fixture(autouse=True)
def healed(on_qdrant, store, server):
    """Before the collections are dropped."""
    yield
    server.heal()


@pytest.fixture
def on_qdrant(settings, monkeypatch):
    settings.STRATA_VECTOR_STORE = "qdrant"
    settings.QDRANT_API_KEY, settings.QDRANT_TIMEOUT_SECONDS = "", 10
    monkeypatch.setattr(tasks.sync_worker, "_waits_until", {})


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=list(REFUSALS))
def test_a_refusal_is_reported_and_the_work_is_done_afterwards(build, server, refusal):
    sync(build, give("A heron waits in the shallows."))
    plan_nodes(give("Reeds grow by the weir.").pk, build)
    server.fault(Action.FAIL, count=1_000, **refusal_as_fault(refusal))

    answer = client_with_key().get("/api/v1/search/pages?index=plain&q=heron")
    for _ in range(3):
        tasks.sync_worker.run(build.pk)
    undone = Node.objects.exclude(state=Node.State.SYNCED).get()
    problem = IndexBuild.objects.get(pk=build.pk).problem
    server.heal()
    tasks.sync_worker._waits_until.clear()  # the time has passed
    is_bug = refusal.expected[1] == "store_rejected"
    if is_bug:  # a request that is wrong stays wrong: it is given up with its error
        assert undone.state == Node.State.FAILED
        assert retry_failed_nodes(Node.objects.all()) == 1
    tasks.sync_worker.run(build.pk)

    assert (answer.status_code, answer.json()["code"]) == refusal.expected
    assert answer.get("Retry-After") != "0"
    if refusal.retry_after is not None:
        assert answer["Retry-After"] == str(refusal.retry_after)
    assert is_bug or (undone.state, undone.attempts) == (Node.State.PENDING, 0)
    assert refusal.detail[:100] in f"{undone.last_error} {problem}" or refusal.status in {401, 404}
    assert get_store().count(COLLECTION) == 2
    assert verify_build(build).is_sound
    assert IndexBuild.objects.get(pk=build.pk).first_problem == ""
    found = client_with_key().get("/api/v1/search/pages?index=plain&q=heron")
    assert found.json()["hits"]


def refusal_as_fault(refusal: Refusal) -> dict[str, Any]:
    return {
        "status": refusal.status,
        "detail": refusal.detail,
        "is_json": refusal.is_json,
        "retry_after": refusal.retry_after,
    }


class TestAnAnswerOfACluster:
    @pytest.fixture
    def answers(self):
        return {answer["case"]: answer["answer"] for answer in read_answers("cluster")}

    def test_names_replicas_of_a_killed_node(self, answers):
        killed, back = (
            models.CollectionClusterInfo(**answers[case]["result"])
            for case in ("killed node: cluster of r2", "node back: cluster of r2")
        )

        assert describe_lagging_replicas(killed) == [
            f"the replica of shard {shard} on peer 4725573481193988 is Dead" for shard in (1, 2)
        ]
        assert describe_lagging_replicas(back) == []

    def test_is_compared_with_the_store_settings(self, answers):
        info = models.CollectionInfo(**answers["killed node: info of r2"]["result"])

        assert find_changes(info, StoreSpec()) == {}
        changes = find_changes(info, StoreSpec(quantization="int8", write_consistency=2))
        assert set(changes) == {"quantization_config", "collection_params"}

    def test_shows_a_restarted_server_that_waits_for_a_change(self, answers):
        info = models.CollectionInfo(**answers["killed node: info of r2"]["result"])
        waiting = info.model_copy(update={"status": models.CollectionStatus.GREY})

        assert set(find_changes(waiting, StoreSpec())) == {"optimizers_config"}
