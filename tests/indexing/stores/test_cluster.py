"""Effects of a Qdrant cluster on searches, upkeep and receipts: shards, replicas, dead nodes."""

from types import SimpleNamespace

import numpy as np
import pytest

from documents.models import Artifact
from documents.services import remove_artifact
from indexing import embedding, tasks
from indexing.losses import has_lost_collection
from indexing.models import IndexBuild, Node
from indexing.removal import remove_artifact_points, remove_index
from indexing.sparse_vectors import encode_sparse_query
from indexing.stores import (
    CollectionSchema,
    Match,
    Point,
    Query,
    get_store,
)
from indexing.stores import base as base_module
from indexing.stores.qdrant import QdrantStore
from indexing.verification import verify_build
from retrieval.fusion import CollectionRankings, HybridFusion, fuse_collections
from tests.clients import client_with_key
from tests.factories import PARAGRAPHS, change_search, give, sync
from tests.qdrant_loopback.process import qdrant_loopback

COLLECTION = "plain.page_embeddings.1"
STALE_SECONDS = 3_600  # longer than any test: see ``waits``
SEARCH = "/api/v1/search/pages"


@pytest.fixture(scope="module")
def server():
    """Three nodes, three shards, each on two nodes."""
    with qdrant_loopback(shards=3) as server:
        yield server


@pytest.fixture
def qdrant_url(server):
    return server.url


@pytest.fixture(autouse=True)
def on_qdrant(settings):
    settings.STRATA_VECTOR_STORE = "qdrant"
    settings.QDRANT_API_KEY, settings.QDRANT_TIMEOUT_SECONDS = "", 10


@pytest.fixture(autouse=True)
def nodes(on_qdrant, store, server):
    """All are up again before the collections are dropped."""
    yield
    for node in range(3):
        server.revive(node)


@pytest.fixture(autouse=True)
def waits(server, monkeypatch):
    """How long replicas were waited for, one after the other. The time does not pass: instead, the
    node that came back catches up."""
    seconds = []

    def pass_time(pause):
        seconds.append(pause)
        server.revive(0)
        server.revive(1)

    monkeypatch.setattr(base_module, "time", SimpleNamespace(sleep=pass_time))
    return seconds


def search(text: str, **given: int) -> list[dict]:
    parameters: dict[str, str | float] = {"index": "plain", "q": text, **given}
    answer = client_with_key().get(SEARCH, parameters)
    assert answer.status_code == 200, answer.content
    return answer.json()["hits"]


def node_ids(hits: list[dict]) -> list[str]:
    return [hit["node_id"] for hit in hits]


@pytest.fixture
def synced(build):
    """Forty documents, so that each shard holds some."""
    words = ["heron", "granite", "ledger", "bread", "weir"]
    texts = [f"Note {n} about {words[n % 5]} and {words[n // 5 % 5]}." for n in range(40)]
    sync(build, *(give(text, title="") for text in texts))
    return build


def make_one_away(server, build) -> Artifact:
    """Write a document while a node is dead. When it is back, it does not know the document."""
    server.kill(0)
    # So many chunks that some are in the shards of which the node has a replica.
    added = give("\n\n".join([*PARAGRAPHS, *(f"Reeds grow by weir {n}. " * 18 for n in range(12))]))
    sync(build, added)
    server.revive(0, stale_seconds=STALE_SECONDS)
    return added


class TestShards:
    """Three shards find what one finds, except that idf is counted in each of them."""

    @pytest.fixture
    def one_shard(self, synced):
        """The same points in one shard."""
        ids = [point.id for batch in get_store().scroll(COLLECTION) for point in batch]
        points = get_store().retrieve(COLLECTION, ids, with_vectors=True).values()
        with qdrant_loopback() as server:
            store = QdrantStore.connect(server.url)
            store.ensure_collection(COLLECTION, CollectionSchema(384, {}))
            store.upsert(COLLECTION, [Point(p.id, p.dense, p.sparse, p.payload) for p in points])
            yield store
            store.close()

    def test_give_the_same_dense_ranking(self, one_shard):
        # No two notes are equally similar to it: ties may come in any order.
        dense = np.random.default_rng(7).normal(size=384).astype(np.float32)

        found = [store.search(COLLECTION, Query(dense=dense)) for store in (get_store(), one_shard)]

        assert [hit.id for hit in found[0]] == [hit.id for hit in found[1]]
        assert len(found[0]) == 10

    @pytest.mark.parametrize("weights", [(1.0, 1.0), (0.7, 0.3)])
    def test_are_fused_by_the_ranks_among_all_points(self, synced, weights):
        """By the server with equal weights, by Strata with others: the ranks are those of the
        rankings over all shards."""
        change_search(synced, dense_weight=weights[0], sparse_weight=weights[1])
        spec = IndexBuild.objects.get(pk=synced.pk).spec
        dense = embedding.get_embedder(spec.embedding).embed_query("heron and granite")
        sparse = encode_sparse_query(spec.sparse, "heron and granite")
        rankings = get_store().search_many(
            [
                (COLLECTION, Query(dense=dense, limit=100)),
                (COLLECTION, Query(sparse=sparse, limit=100)),
            ]
        )
        scored = ([(hit.id.int, hit.score) for hit in each] for each in rankings)
        ranking = fuse_collections(
            [CollectionRankings(*scored)],
            HybridFusion(dense_weight=weights[0], sparse_weight=weights[1]),
        )

        hits = search("heron and granite")

        assert [hit["score"] for hit in hits] == pytest.approx(
            [score for _, score in ranking.fused[:10]], abs=1e-6
        )


class TestARestartedNode:
    def test_returns_the_write_to_a_search_with_min_revision(self, synced, server, waits):
        added = make_one_away(server, synced)
        stale = search("weir reeds", limit=100)
        shown = search("weir reeds", limit=100, min_revision=added.revision)

        of_added = {
            str(point_id)
            for point_id in Node.objects.filter(artifact=added).values_list("point_id", flat=True)
        }
        assert not of_added <= set(node_ids(stale))  # or the node would not be behind
        assert of_added <= set(node_ids(shown))
        assert waits == [base_module.CATCH_UP_SECONDS]

    @pytest.mark.parametrize("weights", [(1.0, 1.0), (0.7, 0.3)])
    def test_is_asked_again_if_it_lacks_the_collection(self, build, server, weights):
        change_search(build, dense_weight=weights[0], sparse_weight=weights[1])
        server.kill(0)
        added = give("A heron waits in the shallows.")
        sync(build, added)
        server.revive(0, stale_seconds=STALE_SECONDS)

        assert search("heron", min_revision=added.revision)

    @pytest.mark.parametrize("weights", [(1.0, 1.0), (0.7, 0.3)])
    def test_is_not_waited_for_if_it_has_the_last_writes(self, synced, waits, weights):
        change_search(synced, dense_weight=weights[0], sparse_weight=weights[1])
        revision = Artifact.objects.latest("revision").revision

        assert search("heron", min_revision=revision)
        assert waits == []

    def test_causes_no_finding_of_verify(self, synced, server):
        make_one_away(server, synced)

        assert verify_build(synced).is_sound

    def test_does_not_hide_a_real_finding_of_verify(self, synced):
        lost, *_ = Node.objects.values_list("point_id", flat=True)
        get_store().delete(COLLECTION, [lost])

        assert verify_build(synced).findings == {"missing": 1}

    def test_is_not_treated_as_lost_points(self, synced, server, caplog):
        make_one_away(server, synced)

        tasks.reconcile_store()

        assert "lost points" not in caplog.text
        assert not Node.objects.exclude(state=Node.State.SYNCED).exists()

    def test_is_not_treated_as_a_lost_collection(self, build, server):
        server.kill(0)
        sync(build, give("A heron waits in the shallows."))
        server.revive(0, stale_seconds=STALE_SECONDS)
        is_empty_there = get_store().count(COLLECTION) == 0

        is_lost = has_lost_collection(build.pk, COLLECTION)

        assert (is_empty_there, is_lost) == (True, False)
        assert search("heron")


class TestADeadNode:
    def test_stops_neither_searches_nor_writes(self, synced, server):
        before = node_ids(search("heron", limit=50))

        server.kill(1)

        assert node_ids(search("heron", limit=50)) == before
        added = give("Reeds grow by the weir.")
        sync(synced, added)
        assert search("reeds", min_revision=added.revision)[0]["artifact"]["id"] == str(added.pk)

    def test_with_the_last_replica_of_a_shard_is_an_outage(self, synced, server):
        server.kill(0)
        server.kill(1)

        answer = client_with_key().get(SEARCH, {"index": "plain", "q": "heron"})

        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")

    def test_restores_no_deleted_points_when_it_returns(self, synced, server):
        gone = next(node.artifact for node in Node.objects.all() if node.point_id.int % 3 != 2)
        server.kill(1)  # it has all shards but the last
        remove_artifact(gone.pk)
        remove_artifact_points([gone.pk], "plain")

        server.revive(1, stale_seconds=STALE_SECONDS)

        assert get_store().count(COLLECTION, Match("artifact_id", [str(gone.pk)])) == 1
        assert str(gone.pk) not in {hit["artifact"]["id"] for hit in search("heron", limit=100)}
        assert verify_build(synced).is_sound
        assert get_store().count(COLLECTION, Match("artifact_id", [str(gone.pk)])) == 0


class TestADeletionReceipt:
    def test_certifies_a_deletion_if_every_replica_is_active(self, synced):
        artifact = Artifact.objects.earliest("revision")

        answer = client_with_key().delete(f"/api/v1/artifacts/{artifact.pk}/")

        assert (answer.status_code, answer.json()["waits_for"]) == (200, [])

    def test_names_the_dead_replica(self, synced, server):
        server.kill(1)
        artifact = Artifact.objects.earliest("revision")

        answer = client_with_key().delete(f"/api/v1/artifacts/{artifact.pk}/")

        assert (answer.status_code, answer.json()["points"]) == (202, 0)
        assert answer.json()["waits_for"] == [
            f"{COLLECTION}: the replica of shard {shard} on peer 1 is Dead" for shard in (0, 1)
        ]
        assert "replica" in answer.json()["detail"]

    def test_names_the_shard_that_is_being_transferred(self, synced, server):
        server.kill(1)
        server.revive(1, stale_seconds=STALE_SECONDS)
        artifact_id = Artifact.objects.earliest("revision").pk
        remove_artifact(artifact_id)

        removal = remove_artifact_points([artifact_id], "plain")

        assert not removal.is_complete
        assert f"{COLLECTION}: the replica of shard 0 on peer 1 is Partial" in removal.waits_for
        transfer = "shard 0 is being transferred from peer 0 to peer 1"
        assert f"{COLLECTION}: {transfer}" in removal.waits_for
        server.revive(1)
        again = remove_artifact_points([artifact_id], "plain")
        assert (again.is_complete, again.waits_for) == (True, [])

    def test_of_an_index_names_a_node_that_does_not_answer(self, synced, server):
        server.kill(1)

        receipt = remove_index("plain")

        assert (receipt.is_complete, set(receipt.collections.values())) == (False, {0})
        assert receipt.waits_for == [
            f"{COLLECTION}: the peer at http://node-1:6335/ does not answer"
        ]
        server.revive(1)
        assert remove_index("plain").is_complete
