from uuid import UUID, uuid4

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey
from indexing import tasks
from indexing.models import Node, Regeneration
from indexing.regeneration import begin_regeneration
from tests.acting import record_enqueued
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

REGENERATE = "/api/v1/regenerate/"


@pytest.fixture
def api(build) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('tests')[1]}")
    return client


@pytest.fixture
def wakes(monkeypatch):
    return record_enqueued(monkeypatch, tasks.regenerate)


class TestCreate:
    def test_regenerates_the_requested_type(
        self, api, build, django_capture_on_commit_callbacks, embedder
    ):
        artifact = give()
        sync(build, artifact)
        embedder.embedded.clear()

        with django_capture_on_commit_callbacks(execute=True):
            answer = api.post(REGENERATE, {"type": "chunk", "index": "plain"}, format="json")

        assert answer.status_code == 202
        assert answer.json()["artifacts"]["total"] == 1
        assert embedder.embedded  # tasks run eagerly here
        after = api.get(f"{REGENERATE}{answer.json()['id']}/").json()
        assert (after["state"], after["is_synced"]) == ("done", True)
        assert after["artifacts"]["done"] == after["artifacts"]["made_due"] == 1
        assert after["nodes"] == {
            "made_due": Node.objects.count(), "pending": 0, "failed": 0,
        }  # fmt: skip

    def test_limits_the_unfinished_regenerations_of_a_key(self, api, settings, wakes):
        settings.STRATA_KEY_WAITING_JOBS = 2
        requests = [{"type": "chunk", "index": "plain", "offset": number} for number in range(3)]
        first, second, third = (api.post(REGENERATE, each, format="json") for each in requests)

        assert [each.status_code for each in (first, second, third)] == [202, 202, 429]
        assert third.json() == {
            "code": "too_many_jobs",
            "detail": "This key already has 2 waiting regenerations, which is its limit.",
            "fix": "Try again when some of them are done.",
        }
        assert int(third["Retry-After"]) > 0
        again = api.post(REGENERATE, requests[0], format="json")
        assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
        assert begin_regeneration(["chunk"], index="plain", offset=9)  # of the admin
        api.post(f"{REGENERATE}{first.json()['id']}/cancel")
        assert api.post(REGENERATE, requests[2], format="json").status_code == 202

    def test_stores_the_given_parameters(self, api, wakes, django_capture_on_commit_callbacks):
        given = {
            "type": "all", "index": "plain", "only_missing": True, "stale": True, "limit": 5,
            "offset": 2, "artifacts": [str(uuid4())],
        }  # fmt: skip

        with django_capture_on_commit_callbacks(execute=True):
            answer = api.post(REGENERATE, given, format="json").json()

        row = Regeneration.objects.get()
        assert (row.index_id, row.limit, row.offset) == ("plain", 5, 2)
        assert row.is_for_missing
        assert row.is_for_stale
        assert row.artifact_ids == given["artifacts"]
        every = ["chunk", "compound", "concept", "image", "question", "summary", "vocabulary"]
        assert answer["types"] == row.types == every
        assert (answer["only_missing"], answer["stale"]) == (True, True)
        assert wakes == [("regenerate", {"regeneration_id": str(row.pk)})]

    def test_regenerates_everything_by_default(self, api, wakes):
        answer = api.post(REGENERATE)

        assert answer.status_code == 202
        assert answer.json()["index"] is None

    @pytest.mark.parametrize(
        ("given", "status", "code", "field", "allowed"),
        [
            ({"type": "idea"}, 400, "invalid", "type", "question"),
            ({"type": "summary", "index": "plain"}, 400, "invalid", "type", "chunk"),
            ({"index": "nil"}, 404, "unknown_index", "index", "plain"),
            ({"category": "epistemic"}, 400, "invalid", "category", None),
            ({"missing": True}, 400, "invalid", "missing", "only_missing"),
            ({"limit": 0}, 400, "invalid", "limit", None),
            ({"offset": -1}, 400, "invalid", "offset", None),
            ({"artifacts": ["x"]}, 400, "invalid", "artifacts.0", None),
            ({"artifacts": [0]}, 400, "invalid", "artifacts.0", None),
        ],
    )
    def test_names_the_wrong_field_and_what_is_allowed(
        self, api, given, status, code, field, allowed
    ):
        answer = api.post(REGENERATE, given, format="json")

        assert answer.status_code == status
        assert (answer.json()["code"], answer.json()["field"]) == (code, field)
        assert allowed is None or allowed in answer.json()["allowed"]
        assert not Regeneration.objects.exists()

    def test_requires_a_key(self, build):
        assert APIClient().post(REGENERATE).status_code == 401


class TestRetrieve:
    @pytest.mark.parametrize("name", [str(UUID(int=7)), "x"])
    def test_answers_404_for_an_unknown_id(self, api, name):
        answer = api.get(f"{REGENERATE}{name}/")

        assert answer.status_code == 404
        assert answer.json()["code"] == "unknown_regeneration"


class TestList:
    def test_is_paged_newest_first(self, api):
        first, second, third = (begin_regeneration(["chunk"], offset=n) for n in range(3))

        answer = api.get(REGENERATE, {"limit": 2}).json()

        assert answer["count"] == 3
        assert [each["id"] for each in answer["results"]] == [str(third.pk), str(second.pk)]
        following = api.get(answer["next"]).json()
        assert [each["id"] for each in following["results"]] == [str(first.pk)]

    def test_refuses_unknown_parameters(self, api):
        assert api.get(REGENERATE, {"state": "done"}).json()["allowed"] == ["limit", "offset"]


class TestCancel:
    @pytest.mark.parametrize("slash", ["", "/"])
    def test_cancels_a_regeneration(self, api, slash):
        row = begin_regeneration(["chunk"])

        answer = api.post(f"{REGENERATE}{row.pk}/cancel{slash}")

        assert answer.status_code == 200
        assert answer.json()["state"] == "cancelled"
        row.refresh_from_db()
        assert row.state == "cancelled"

    def test_answers_404_for_an_unknown_id(self, api):
        assert api.post(f"{REGENERATE}{uuid4()}/cancel").status_code == 404
