"""Tests of the Qdrant store beyond the contract: network errors, and its requests."""

import json
import socket
import threading
import uuid
import warnings
from unittest import mock

import httpx
import numpy as np
import pytest
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http import models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from indexing.exceptions import (
    StoreBusy,
    StoreOutcomeUnknown,
    StoreRefused,
    StoreRejected,
    StoreUnavailable,
)
from indexing.stores import CollectionSchema, Match, Point, Query, RankFusion, SparseVector
from indexing.stores.qdrant import QdrantStore
from indexing.stores.qdrant_batches import (
    MAX_BODY_BYTES,
    cut_batches,
    estimate_point_bytes,
    make_payload_operations,
)
from indexing.stores.qdrant_connections import ReconnectingTransport

DENSE = np.array([1, 0], dtype=np.float32)
SPARSE = SparseVector([1], [1.0])


MISSING = "Not found: Collection `papers` doesn't exist!"

# Recorded answers of Qdrant 1.18: name -> status, message (none: an empty body), Strata's error,
# and words in its message.
REFUSALS = {
    "no key": (
        401, "Must provide an API key or an Authorization bearer token",
        StoreRefused, "does not accept the API key",
    ),
    "read-only key": (
        403, "Forbidden: Global manage access is required",
        StoreRefused, "does not allow this .* Global manage access is required",
    ),
    "another server": (404, "", StoreRefused, "no Qdrant server at QDRANT_URL"),
    "another collection": (
        404, "Not found: Collection `none` doesn't exist!", StoreRejected, "`none` doesn't exist"
    ),
    "strict mode": (
        400, 'Bad request: Limit exceeded 51 > 50 for "limit". Help: Reduce it.',
        StoreRefused, 'strict mode .* Limit exceeded 51 > 50 for "limit"',
    ),
    "a defect of ours": (
        400, "Wrong input: Not existing vector name error: nope", StoreRejected, "vector name error"
    ),
    "a limit of validation": (422, "value 0 invalid, must be 1 or larger", StoreRejected, "422"),
    "a slow request": (408, "Timeout", StoreOutcomeUnknown, "failed: Timeout"),
    "a dead node": (500, "1 of 1 read operations failed", StoreOutcomeUnknown, "1 of 1"),
    "too often, without a time": (429, "Rate limiting exceeded", StoreBusy, "rate of requests"),
}  # fmt: skip


def server_error(status, detail="Service internal error"):
    content = json.dumps({"status": {"error": detail}}).encode() if detail else b""
    return UnexpectedResponse(status, "Reason", content, httpx.Headers())


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
    def test_of_the_network_and_the_server_are_retryable(self, client, error):
        client.query_batch_points.side_effect = error
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
    def test_distinguish_requests_that_were_sent_from_those_that_were_not(
        self, client, error, is_silent
    ):
        client.delete.side_effect = error

        with pytest.raises(StoreUnavailable) as raised:
            QdrantStore(client).delete("papers", [uuid.uuid4()])

        assert isinstance(raised.value, StoreOutcomeUnknown) is is_silent

    @pytest.mark.parametrize(
        ("status", "detail", "error", "words"), REFUSALS.values(), ids=REFUSALS
    )
    def test_are_distinguished_by_status_and_text(self, client, status, detail, error, words):
        client.query_batch_points.side_effect = server_error(status, detail)
        client.upsert.side_effect = server_error(status, detail)

        with pytest.raises(error, match=words) as raised:
            QdrantStore(client).search("papers", Query(dense=DENSE))
        with pytest.raises(error, match=words):
            QdrantStore(client).upsert("papers", [Point(uuid.uuid4(), DENSE, None, {})])

        assert type(raised.value) is error
        assert raised.value.is_about_setup is (error is StoreRefused)
        assert bool(raised.value.fix) is (error is StoreRefused)
        assert raised.value.is_expected is (error is not StoreRejected)

    def test_have_the_retry_time_of_the_server(self, client):
        client.get_collections.side_effect = ResourceExhaustedResponse("Retry after 20s", 20)

        with pytest.raises(StoreBusy) as raised:
            QdrantStore(client).ping()

        assert (raised.value.retry_after, raised.value.is_retryable) == (20.0, True)

    def test_are_raised_if_there_is_no_server(self):
        store = QdrantStore.connect("http://127.0.0.1:1")

        with pytest.raises(StoreUnavailable):
            store.ping()
        store.close()

    def test_are_lookup_errors_for_a_missing_collection(self, client):
        client.query_batch_points.side_effect = server_error(404, MISSING)
        client.count.side_effect = client.upsert.side_effect = server_error(404, MISSING)
        store = QdrantStore(client)

        assert store.search("papers", Query(dense=DENSE)) == []
        assert store.count("papers") == 0
        with pytest.raises(LookupError):
            store.upsert("papers", [Point(uuid.uuid4(), DENSE, None, {})])


class TestRequests:
    def test_of_a_hybrid_search_contain_both_rankings_fused_by_the_server(self, client):
        client.query_batch_points.return_value = [models.QueryResponse(points=[])]
        query = Query(DENSE, SPARSE, RankFusion(prefetch=70), filter=Match("year", [2020]))

        QdrantStore(client).search("papers", query)

        [call] = client.method_calls
        [request] = call.args[1]
        assert [ranking.using for ranking in request.prefetch] == ["dense", "sparse"]
        assert [ranking.limit for ranking in request.prefetch] == [70, 70]
        assert all(ranking.filter is not None for ranking in request.prefetch)

    def test_of_all_pages_examine_equally_many_candidates(self, client):
        client.query_batch_points.return_value = [models.QueryResponse(points=[])]
        store = QdrantStore(client)
        pages = [Query(dense=DENSE, ef=200, offset=offset) for offset in (0, 10, 180, 300, 900)]

        for page in pages:
            store.search("papers", page)

        asked = [call.args[1][0].params for call in client.method_calls]
        assert [params.hnsw_ef for params in asked] == [200, 200, 200, 4_096, 4_096]

    def test_rescore_quantized_vectors_with_full_vectors(self, client):
        client.query_batch_points.return_value = [models.QueryResponse(points=[])]
        store = QdrantStore(client)

        store.search("papers", Query(DENSE, SPARSE, RankFusion()))
        store.search("papers", Query(dense=DENSE))

        fused, alone = (call.args[1][0] for call in client.method_calls)
        for asked in (*fused.prefetch, alone):
            quantization = asked.params.quantization
            assert (quantization.rescore, quantization.oversampling) == (True, 2.0)

    def test_are_exact_for_an_exact_query(self, client):
        client.query_batch_points.return_value = [models.QueryResponse(points=[])]

        QdrantStore(client).search("papers", Query(dense=DENSE, is_exact=True))

        [call] = client.method_calls
        assert call.args[1][0].params == models.SearchParams(exact=True)

    def test_of_writes_go_through_the_leader_of_a_shard(self, client):
        store, point = QdrantStore(client), Point(uuid.uuid4(), DENSE, None, {})
        client.retrieve.return_value = [models.Record(id=str(point.id), payload={})]

        store.upsert("papers", [point])
        store.replace_payloads("papers", {point.id: {"title": "B"}})
        store.delete("papers", [point.id])

        writes = [client.upsert, client.batch_update_points, client.delete]
        assert [each.call_args.kwargs["ordering"] for each in writes] == [
            models.WriteOrdering.MEDIUM
        ] * 3

    def test_of_several_searches_of_one_collection_are_sent_together(self, client):
        client.query_batch_points.return_value = [models.QueryResponse(points=[])] * 2

        answers = QdrantStore(client).search_many(
            [("papers", Query(dense=DENSE, with_payload=False)), ("papers", Query(sparse=SPARSE))]
        )

        assert answers == [[], []]
        [call] = client.method_calls
        assert [request.using for request in call.args[1]] == ["dense", "sparse"]
        assert [request.with_payload for request in call.args[1]] == [False, True]

    def test_index_the_fields_that_a_collection_lacks(self, client):
        client.collection_exists.return_value = True
        client.get_collection.return_value.payload_schema = {"year": object()}

        QdrantStore(client).ensure_collection(
            "papers", CollectionSchema(2, {"year": "integer", "venue": "keyword"})
        )

        [call] = client.create_payload_index.call_args_list
        assert call.args[1] == "venue"
        assert not client.create_collection.called

    def test_create_a_collection_that_soon_removes_deleted_points(self, client):
        client.collection_exists.return_value = False
        client.get_collection.return_value.payload_schema = {}

        QdrantStore(client).ensure_collection("papers", CollectionSchema(2, {}))

        [call] = client.create_collection.call_args_list
        config = call.kwargs["optimizers_config"]
        assert (config.deleted_threshold, config.vacuum_min_vector_number) == (0.05, 100)

    def test_accept_a_collection_that_another_process_created_first(self, client):
        client.collection_exists.return_value = False
        client.create_collection.side_effect = server_error(409)
        client.get_collection.return_value.payload_schema = {}

        QdrantStore(client).ensure_collection("papers", CollectionSchema(2, {"year": "integer"}))

        assert client.create_payload_index.called

    def test_do_not_warn_of_an_unencrypted_key(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            QdrantStore.connect("http://127.0.0.1:1", api_key="secret").close()


class TestBatches:
    def test_are_not_larger_than_the_server_accepts(self, client):
        wide = np.random.default_rng(1).random(4_096).astype(np.float32)
        text = '\u4e2d "quoted" ' * 2_000
        points = [Point(uuid.uuid4(), wide, SPARSE, {"text": text}) for _ in range(400)]

        QdrantStore(client).upsert("papers", points)

        batches = [call.args[1] for call in client.upsert.call_args_list]
        assert sum(map(len, batches)) == 400
        assert len(batches) > 1
        for batch in batches:
            body = models.PointsList(points=batch).model_dump_json()
            assert len(body.encode()) < MAX_BODY_BYTES

    def test_contain_a_limited_number_of_points(self):
        points = [Point(uuid.uuid4(), DENSE, None, {}) for _ in range(1_001)]

        sizes = [len(batch) for batch in cut_batches(points, estimate_point_bytes)]

        assert sizes == [500, 500, 1]

    def test_put_a_larger_point_in_a_batch_alone(self):
        sizes = [len(batch) for batch in cut_batches([1, MAX_BODY_BYTES + 1, 1], lambda size: size)]

        assert sizes == [1, 1, 1]


class TestPayloadOperations:
    def test_are_grouped_by_identical_changes(self):
        ids = [uuid.uuid4() for _ in range(500)]
        stored = {
            each: {"text": f"Chunk {n}.", "title": "Old", "venue": "pond"}
            for n, each in enumerate(ids)
        }
        wanted = {each: {"text": f"Chunk {n}.", "title": "New"} for n, each in enumerate(ids)}

        removal, change = make_payload_operations(stored, wanted)

        assert removal.delete_payload.keys == ["venue"]
        assert change.set_payload.payload == {"title": "New"}
        for selected in (removal.delete_payload, change.set_payload):
            [condition] = selected.filter.must
            assert condition.has_id == [str(each) for each in ids]

    def test_are_empty_if_nothing_changes_or_no_point_is_stored(self):
        same, absent = uuid.uuid4(), uuid.uuid4()

        assert make_payload_operations({same: {"a": 1}}, {same: {"a": 1}, absent: {"a": 2}}) == []

    def test_remove_the_second_copy_of_a_text_that_earlier_releases_wrote(self):
        [operation] = make_payload_operations(
            {uuid.UUID(int=1): {"text": "A", "content": "A"}}, {uuid.UUID(int=1): {"text": "A"}}
        )

        assert operation.delete_payload.keys == ["content"]


class ClosingServer:
    """Answers the first request of each connection, and closes the connection at the second without
    an answer, as a server does after its idle timeout."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = 0
        self.answers_first = True
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                if connection.recv(65_536) and self.answers_first:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    connection.recv(65_536)


class TestReconnectingTransport:
    @pytest.fixture
    def server(self):
        server = ClosingServer()
        yield server
        server.listener.close()

    def test_retries_a_request_if_a_kept_connection_is_broken(self, server):
        with httpx.Client(transport=ReconnectingTransport(), trust_env=False) as client:
            answers = [client.post(server.url, content=b"x").text for _ in range(3)]

        assert answers == ["ok", "ok", "ok"]
        assert server.connections == 3

    def test_reports_a_new_connection_that_breaks(self, server):
        server.answers_first = False

        with (
            httpx.Client(transport=ReconnectingTransport(), trust_env=False) as client,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            client.post(server.url, content=b"x")

        assert server.connections == 1
