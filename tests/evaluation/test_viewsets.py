import json
import uuid

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey
from documents.models import Artifact
from evaluation import tasks
from evaluation.models import EvaluationRun, Judgement
from indexing.models import Node
from tests.clients import client_with_key
from tests.evaluation.paragraphs import fill
from tests.factories import load_index

pytestmark = pytest.mark.django_db

QUERIES = {"q1": "heron waits for fish", "q2": "granite cools slowly"}
QRELS = {"q1": {"d0": 1}, "q2": {"d3": 1}}


@pytest.fixture(scope="module")
def filled(shared_store) -> None:
    fill(load_index("plain"))


@pytest.fixture
def client(filled):
    client = APIClient()
    _, secret = ApiKey.issue("Vera")
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


@pytest.fixture
def measured(django_capture_on_commit_callbacks):
    """Measure the requested runs, as a worker does after the commit."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


def evaluate(client, **given):
    body = {"index": "plain", "queries": QUERIES, "qrels": QRELS, **given}
    return client.post("/api/v1/evaluations/", body, format="json")


class TestEvaluations:
    def test_are_accepted_and_measured_later(self, client, measured):
        with measured():
            accepted = evaluate(client, systems=["hybrid"], against="sparse")
            assert accepted.status_code == 202
            assert accepted.json()["state"] == "queued"

        done = client.get(f"/api/v1/evaluations/{accepted.json()['id']}/").json()
        assert done["state"] == "done"
        assert done["progress"] == {"done": 4, "total": 4}
        assert done["systems"] == ["hybrid", "sparse"]
        assert done["judgements"] == "given"
        assert done["asked_by"] == "key Vera"
        assert done["build"] == 1
        assert set(done["results"][0]["differences"]) == {"nDCG@10", "R@100", "RR"}
        assert done["earlier"] == []

    def test_are_refused_while_too_many_of_the_key_are_waiting(self, client, settings):
        settings.STRATA_KEY_WAITING_JOBS = 1
        first, again, other = (
            evaluate(client, systems=[system]) for system in ("dense", "dense", "sparse")
        )

        assert (first.status_code, again.status_code, other.status_code) == (202, 202, 429)
        assert again.json()["id"] == first.json()["id"]
        assert "1 waiting evaluations, which is its limit" in other.json()["detail"]

    def test_show_earlier_results_of_the_same_queries(self, client, measured):
        with measured():
            first = evaluate(client, systems=["dense"]).json()["id"]
        with measured():
            evaluate(client, systems=["dense"], qrels={"q1": {"d1": 1}})
        with measured():
            again = evaluate(client, systems=["dense"]).json()["id"]

        [earlier] = client.get(f"/api/v1/evaluations/{again}/").json()["earlier"]

        assert earlier["id"] == first
        assert earlier["results"][0]["system"] == "dense"

    def test_are_listed_newest_first_without_details(self, client, measured):
        with measured():
            evaluate(client, systems=["dense"])
            newest = evaluate(client, systems=["sparse"]).json()["id"]

        answer = client.get("/api/v1/evaluations/?index=plain&limit=1").json()

        assert answer["count"] == 2
        assert [each["id"] for each in answer["results"]] == [newest]
        assert "limit=1&offset=1" in answer["next"]
        assert "details" not in answer["results"][0]
        assert client.get("/api/v1/evaluations/?index=papers").json()["count"] == 0

    def test_can_use_the_golden_queries(self, client, measured):
        body = {"index": "plain", "systems": ["dense"]}
        assert client.post("/api/v1/evaluations/", body, format="json").status_code == 400
        check(client, node_id=point_of("d0"))

        with measured():
            accepted = client.post("/api/v1/evaluations/", body, format="json")

        assert accepted.status_code == 202
        run = EvaluationRun.objects.get()
        assert (run.source, run.state, run.query_count) == ("golden", "done", 1)

    def test_have_a_report_once_finished(self, client, measured):
        waiting = evaluate(client).json()["id"]
        early = client.get(f"/api/v1/evaluations/{waiting}/report")
        assert (early.status_code, early.json()["code"]) == (400, "invalid")

        tasks.measure_run(run_id=waiting)

        page = client.get(f"/api/v1/evaluations/{waiting}/report")
        assert page["Content-Type"] == "text/html; charset=utf-8"
        assert b"granite cools slowly" in page.content

    def test_can_be_deleted(self, client):
        waiting = evaluate(client).json()["id"]

        assert client.delete(f"/api/v1/evaluations/{waiting}/").status_code == 204
        assert client.get(f"/api/v1/evaluations/{waiting}/").status_code == 404

    @pytest.mark.parametrize(
        ("given", "status", "field"),
        [
            ({"index": "plian"}, 404, "index"),
            ({"systems": ["psychic"]}, 400, "systems"),
            ({"systems": []}, 400, "systems"),
            ({"measures": ["goodness"]}, 400, "measures"),
            ({"sytems": ["dense"]}, 400, "sytems"),
            ({"qrels": {"q1": {"d0": -1}}}, 400, "qrels.q1.d0"),
            ({"qrels": {"q9": {"d0": 1}}}, 400, "qrels"),
            ({"qrels": {"q1": {"gone": 1}}}, 400, "qrels"),
            ({"qrels": [1]}, 400, "qrels"),
        ],
    )
    def test_name_the_wrong_field(self, client, given, status, field):
        refused = evaluate(client, **given)

        assert (refused.status_code, refused.json()["field"]) == (status, field)

    def test_require_queries_and_qrels_together(self, client):
        refused = client.post(
            "/api/v1/evaluations/", {"index": "plain", "queries": QUERIES}, format="json"
        )

        assert (refused.status_code, refused.json()["field"]) == (400, "qrels")

    @pytest.mark.parametrize("run_id", ["nonsense", str(uuid.UUID(int=7))])
    @pytest.mark.parametrize("end", ["/", "/report"])
    def test_with_an_unknown_id_are_not_found(self, client, run_id, end):
        answer = client.get(f"/api/v1/evaluations/{run_id}{end}")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_evaluation")

    def test_require_a_key(self, filled):
        assert evaluate(APIClient()).status_code == 401


def point_of(external_id: str) -> str:
    return str(Node.objects.get(artifact__external_id=external_id).point_id)


def check(client, **given):
    body = {"index": "plain", "query": "heron", "verdict": "good", **given}
    return client.post("/api/v1/judgements/", body, format="json")


class TestJudgements:
    def test_are_stored_and_replaced(self, client):
        first = check(client, node_id=point_of("d0"))
        again = check(client, node_id=point_of("d0"), verdict="bad")

        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json()["verdict"] == "good"
        assert again.json() | {"judged_at": ""} == {
            "id": first.json()["id"],
            "index": "plain",
            "query": "heron",
            "artifact_id": first.json()["artifact_id"],
            "page_index": None,
            "node_id": point_of("d0"),
            "verdict": "bad",
            "judged_by": "Vera",
            "judged_at": "",
        }

    def test_name_others_only_to_those_who_see_all_documents(self, client):
        check(client, node_id=point_of("d0"))
        restricted = client_with_key(groups=["red"])
        check(restricted, node_id=point_of("d1"))

        def names(reader):
            results = reader.get("/api/v1/judgements/").json()["results"]
            return ["Vera" in each["judged_by"] for each in results], [
                bool(each["judged_by"]) for each in results
            ]

        assert names(client) == ([False, True], [True, True])
        assert names(restricted) == ([False, False], [True, False])

    def test_are_filtered_by_index_query_and_verdict(self, client):
        check(client, node_id=point_of("d0"))
        check(client, node_id=point_of("d1"), verdict="bad")
        check(client, node_id=point_of("d1"), query="granite")

        def count(question: str) -> int:
            return client.get(f"/api/v1/judgements/?{question}").json()["count"]

        assert count("") == 3
        assert count("index=plain&query=heron") == 2
        assert count("verdict=bad") == 1
        assert count("index=papers") == 0
        newest = client.get("/api/v1/judgements/?limit=1").json()["results"]
        assert [each["query"] for each in newest] == ["granite"]

    def test_are_deleted(self, client):
        kept = check(client, node_id=point_of("d0")).json()["id"]

        assert client.delete(f"/api/v1/judgements/{kept}/").status_code == 204
        assert not Judgement.objects.exists()
        assert client.delete(f"/api/v1/judgements/{kept}/").status_code == 404
        assert client.delete("/api/v1/judgements/nonsense/").status_code == 404

    @pytest.mark.parametrize(
        ("given", "status", "field"),
        [
            ({}, 400, "node_id"),
            ({"node_id": "nonsense"}, 400, "node_id"),
            ({"node_id": str(uuid.uuid4())}, 400, "node_id"),
            ({"artifact_id": str(uuid.uuid4())}, 404, "artifact_id"),
            ({"verdict": "so-so"}, 400, "verdict"),
            ({"query": ""}, 400, "query"),
            ({"index": "plian"}, 404, "index"),
        ],
    )
    def test_name_the_wrong_field(self, client, given, status, field):
        refused = check(client, **given)

        assert (refused.status_code, refused.json()["field"]) == (status, field)
        assert json.dumps(refused.json())

    def test_are_deleted_with_their_document(self, client):
        check(client, node_id=point_of("d0"))

        Artifact.objects.get(external_id="d0").delete()

        assert not Judgement.objects.exists()
