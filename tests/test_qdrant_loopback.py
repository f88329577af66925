"""The fake Qdrant server, which can be told to fail."""

import httpx
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from tests.qdrant_loopback.calls import CALLS
from tests.qdrant_loopback.faults import Action
from tests.qdrant_loopback.process import qdrant_loopback

TIMEOUT_SECONDS = 1
POINT = models.PointStruct(id=1, vector={"dense": [1.0, 0.0]}, payload={"year": 2020})


@pytest.fixture(scope="module")
def server():
    with qdrant_loopback() as server:
        yield server


@pytest.fixture
def client(server):
    client = QdrantClient(url=server.url, timeout=TIMEOUT_SECONDS, check_compatibility=False)
    dense = models.VectorParams(size=2, distance=models.Distance.COSINE)
    client.create_collection("papers", vectors_config={"dense": dense})
    yield client
    server.heal()
    client.delete_collection("papers")
    client.close()


def count(client):
    return client.count("papers").count


class TestFaults:
    def test_fail_only_the_next_calls_of_their_kind(self, server, client):
        server.fault(Action.FAIL, "upsert", count=2, status=500)

        for _ in range(2):
            with pytest.raises(UnexpectedResponse) as caught:
                client.upsert("papers", [POINT])
            assert caught.value.status_code == 500
            assert count(client) == 0
        client.upsert("papers", [POINT])

        assert count(client) == 1

    def test_refuse_with_the_given_detail_and_header(self, server):
        url = f"{server.url}/collections"
        server.fault(Action.FAIL, status=429, detail="Retry after 20s", retry_after=20)
        server.fault(Action.FAIL, status=404, detail="")

        limited, elsewhere = httpx.get(url), httpx.get(url)

        assert (limited.status_code, limited.headers["Retry-After"]) == (429, "20")
        assert limited.json()["status"]["error"] == "Retry after 20s"
        assert (elsewhere.status_code, elsewhere.content) == (404, b"")

    @pytest.mark.parametrize(
        ("action", "is_applied"),
        [(Action.DROP, False), (Action.LOSE, True), (Action.HANG, True)],
    )
    def test_drop_the_answer_of_a_call(self, server, client, action, is_applied):
        before = server.fired
        server.fault(action, "upsert", seconds=4 * TIMEOUT_SECONDS)

        with pytest.raises(ResponseHandlingException):
            client.upsert("papers", [POINT])

        assert count(client) == is_applied
        assert server.fired.get(f"{action} upsert", 0) - before.get(f"{action} upsert", 0) == 1

    def test_delay_an_answer(self, server, client):
        server.fault(Action.DELAY, "count", seconds=0.3)

        answered = httpx.post(f"{server.url}/collections/papers/points/count", json={})

        assert answered.elapsed.total_seconds() >= 0.3

    def test_refuse_connections_while_it_is_down_and_keep_its_data(self, server, client):
        client.upsert("papers", [POINT])

        server.down()
        with pytest.raises(ResponseHandlingException):
            count(client)
        server.up()

        assert count(client) == 1


class TestCalls:
    def test_that_are_not_implemented_are_named(self, server):
        answer = httpx.post(f"{server.url}/collections/papers/snapshots", json={})

        assert answer.status_code == 501
        assert "POST /collections/papers/snapshots" in answer.json()["status"]["error"]

    def test_have_distinct_kinds(self):
        assert len({call.kind for call in CALLS}) == len(CALLS)


class TestCollections:
    def test_report_their_payload_indexes(self, client):
        client.create_payload_index("papers", "year", models.PayloadSchemaType.INTEGER)
        client.create_payload_index("papers", "title", models.TextIndexParams(type="text"))

        schema = client.get_collection("papers").payload_schema

        assert {field: index.data_type for field, index in schema.items()} == {
            "year": models.PayloadSchemaType.INTEGER,
            "title": models.PayloadSchemaType.TEXT,
        }

    def test_can_be_reached_by_an_alias(self, server, client):
        alias = models.CreateAlias(collection_name="papers", alias_name="live")
        client.upsert("papers", [POINT])

        client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])

        [known] = client.get_aliases().aliases
        assert (known.alias_name, known.collection_name) == ("live", "papers")
        assert client.count("live").count == 1

    def test_return_the_errors_of_a_server(self, client):
        with pytest.raises(UnexpectedResponse) as caught:
            client.create_collection("papers", vectors_config={})
        assert caught.value.status_code == 409
        with pytest.raises(UnexpectedResponse) as caught:
            client.count("nothing")
        assert caught.value.status_code == 404
