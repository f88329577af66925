"""What the client's store does beyond the contract: errors of the network, and its requests."""

import uuid
from unittest import mock

import httpx
import numpy as np
import pytest
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from indexing.exceptions import StoreOutcomeUnknown, StoreUnavailable
from indexing.stores import CollectionSchema, Match, Point, Query, RankFusion, SparseVector
from indexing.stores.qdrant import QdrantStore

DENSE = np.array([1, 0], dtype=np.float32)
SPARSE = SparseVector([1], [1.0])


def server_error(status):
    return UnexpectedResponse(status, "Reason", b"{}", httpx.Headers())


@pytest.fixture
def client():
    return mock.Mock(spec=QdrantClient, _client=None)


class TestErrors:
    @pytest.mark.parametrize(
        "error",
        [
            ResponseHandlingException(httpx.ConnectError("refused")),
            server_error(500),
            server_error(503),
            ResourceExhaustedResponse("slow down", 1),
        ],
        ids=["refused", "500", "503", "429"],
    )
    def test_of_the_network_and_the_server_are_worth_a_retry(self, client, error):
        client.query_points.side_effect = error
        client.upsert.side_effect = error
        client.get_collections.side_effect = error
        store = QdrantStore(client)

        with pytest.raises(StoreUnavailable):
            store.search("papers", Query(dense=DENSE))
        with pytest.raises(StoreUnavailable):
            store.upsert("papers", [Point(uuid.uuid4(), DENSE, None, {})])
        with pytest.raises(StoreUnavailable):
            store.ping()

    @pytest.mark.parametrize(
        ("error", "is_silent"),
        [
            (ResponseHandlingException(httpx.ReadTimeout("slow")), True),
            (ResponseHandlingException(httpx.RemoteProtocolError("gone")), True),
            (server_error(504), True),
            (ResponseHandlingException(httpx.ConnectError("refused")), False),
            (ResponseHandlingException(httpx.ConnectTimeout("away")), False),
            (ResourceExhaustedResponse("slow down", 1), False),
        ],
        ids=["slow", "broken off", "504", "refused", "away", "429"],
    )
    def test_tell_a_request_that_was_sent_from_one_that_was_not(self, client, error, is_silent):
        client.delete.side_effect = error

        with pytest.raises(StoreUnavailable) as raised:
            QdrantStore(client).delete("papers", [uuid.uuid4()])

        assert isinstance(raised.value, StoreOutcomeUnknown) is is_silent

    def test_of_ours_are_bugs(self, client):
        client.query_points.side_effect = server_error(400)

        with pytest.raises(UnexpectedResponse):
            QdrantStore(client).search("papers", Query(dense=DENSE))

    def test_of_a_server_that_is_not_there(self):
        store = QdrantStore.connect("http://127.0.0.1:1")

        with pytest.raises(StoreUnavailable):
            store.ping()
        store.close()

    def test_mean_a_missing_collection_where_the_server_says_so(self, client):
        client.query_points.side_effect = client.count.side_effect = server_error(404)
        client.upsert.side_effect = server_error(404)
        store = QdrantStore(client)

        assert store.search("papers", Query(dense=DENSE)) == []
        assert store.count("papers") == 0
        with pytest.raises(LookupError):
            store.upsert("papers", [Point(uuid.uuid4(), DENSE, None, {})])


class TestRequests:
    def test_a_hybrid_search_is_one_with_both_rankings_fused_by_the_server(self, client):
        client.query_points.return_value.points = []

        for weights in ({}, {"dense_weight": 2.0}):
            client.reset_mock()
            fusion = RankFusion(prefetch=70, **weights)
            QdrantStore(client).search(
                "papers", Query(DENSE, SPARSE, fusion, filter=Match("year", [2020]))
            )

            [call] = client.method_calls
            leaves = [p.prefetch[0] if p.prefetch else p for p in call.kwargs["prefetch"]]
            assert [leaf.using for leaf in leaves] == ["dense", "sparse"]
            assert [leaf.limit for leaf in leaves] == [70, 70]
            assert all(leaf.filter is not None for leaf in leaves)

    def test_the_fields_a_collection_lacks_are_indexed(self, client):
        client.collection_exists.return_value = True
        client.get_collection.return_value.payload_schema = {"year": object()}

        QdrantStore(client).ensure_collection(
            "papers", CollectionSchema(2, {"year": "integer", "venue": "keyword"})
        )

        [call] = client.create_payload_index.call_args_list
        assert call.args[1] == "venue"
        assert not client.create_collection.called

    def test_a_collection_another_process_made_first_is_fine(self, client):
        client.collection_exists.return_value = False
        client.create_collection.side_effect = server_error(409)
        client.get_collection.return_value.payload_schema = {}

        QdrantStore(client).ensure_collection("papers", CollectionSchema(2, {"year": "integer"}))

        assert client.create_payload_index.called
