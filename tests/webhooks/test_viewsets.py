import uuid

import pytest

from tests.acting import record_enqueued
from tests.clients import client_with_key
from webhooks import tasks
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

URL = "https://user:secret@one.example/hook?token=secret"
SHOWN = "https://one.example/hook"


@pytest.fixture(autouse=True)
def receiver(settings, monkeypatch) -> None:
    monkeypatch.setattr(tasks.send_due_deliveries, "delay", lambda: None)
    settings.STRATA_WEBHOOK_URLS = [URL]


@pytest.fixture
def given_up() -> Delivery:
    return Delivery.objects.create(
        url=URL, event="artifact.ready", payload={}, state="given_up", attempts=8,
        last_error="It answered 500.",
    )  # fmt: skip


class TestList:
    def test_shows_deliveries_and_receivers_without_their_secrets(self, given_up):
        answer = client_with_key().get("/api/v1/webhooks/")

        assert "secret" not in answer.content.decode()
        assert answer.json()["receivers"] == [SHOWN]
        [shown] = answer.json()["results"]
        assert (shown["id"], shown["receiver"]) == (str(given_up.pk), SHOWN)
        assert (shown["attempts"], shown["last_error"]) == (8, "It answered 500.")

    def test_filters_by_state(self, given_up):
        client = client_with_key()

        counts = {
            state: client.get("/api/v1/webhooks/", {"state": state}).json()["count"]
            for state in ("due", "given_up")
        }

        assert counts == {"due": 0, "given_up": 1}

    def test_is_only_for_those_who_see_everything(self, given_up):
        refused = client_with_key(indexes=["plain"]).get("/api/v1/webhooks/")

        assert (refused.status_code, refused.json()["code"]) == (403, "needs_all_indexes")


class TestRetry:
    def test_queues_a_delivery_that_was_given_up(
        self, given_up, monkeypatch, django_capture_on_commit_callbacks
    ):
        wakes = record_enqueued(monkeypatch, tasks.send_due_deliveries)

        with django_capture_on_commit_callbacks(execute=True):
            answer = client_with_key().post(f"/api/v1/webhooks/{given_up.pk}/retry/")

        assert (answer.json()["state"], answer.json()["attempts"]) == ("due", 0)
        assert wakes == [("send_due_deliveries", {})]

    def test_knows_no_other_delivery(self):
        answer = client_with_key().post(f"/api/v1/webhooks/{uuid.uuid4()}/retry/")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_delivery")


class TestTest:
    def test_sends_an_event_to_each_receiver(self, settings):
        settings.STRATA_WEBHOOK_URLS = [URL, "https://two.example/"]

        answer = client_with_key().post("/api/v1/webhooks/test/")

        assert answer.status_code == 201
        assert {each["receiver"] for each in answer.json()["results"]} == {
            SHOWN,
            "https://two.example/",
        }
        assert {*Delivery.objects.values_list("event", "state")} == {("webhook.test", "due")}

    def test_without_receivers_says_how_to_set_them(self, settings):
        settings.STRATA_WEBHOOK_URLS = []

        answer = client_with_key().post("/api/v1/webhooks/test/")

        assert (answer.status_code, answer.json()["code"]) == (409, "no_receiver")
        assert "STRATA_WEBHOOK_URLS" in answer.json()["fix"]
