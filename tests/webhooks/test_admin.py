import pytest
from django.urls import reverse

from tests.acting import act, offered, record_enqueued
from webhooks import tasks
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def given_up(settings, monkeypatch):
    monkeypatch.setattr(tasks.send_due_deliveries, "delay", lambda: None)
    settings.STRATA_WEBHOOK_URLS = ["http://one.example/"]
    return Delivery.objects.create(
        url="http://one.example/", event="artifact.ready", payload={}, state="given_up", attempts=8
    )


class TestDeliveryAdmin:
    def test_queues_deliveries_that_were_given_up(
        self, given_up, admin_client, monkeypatch, django_capture_on_commit_callbacks
    ):
        wakes = record_enqueued(monkeypatch, tasks.send_due_deliveries)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "webhooks_delivery", "retry_deliveries", given_up)

        assert said == "1 delivery queued."
        given_up.refresh_from_db()
        assert (given_up.state, given_up.attempts) == ("due", 0)
        assert wakes == [("send_due_deliveries", {})]

    def test_shows_a_delivery_read_only(self, given_up, admin_client):
        page = admin_client.get(reverse("admin:webhooks_delivery_change", args=[given_up.pk]))

        assert page.status_code == 200
        assert "_save" not in page.content.decode()

    def test_finds_a_delivery_by_its_id(self, given_up, admin_client):
        address = reverse("admin:webhooks_delivery_changelist", query={"q": str(given_up.pk)})

        page = admin_client.get(address).content.decode()

        assert "1 delivery" in page

    def test_offers_no_actions_to_users_who_may_only_view(
        self, given_up, client, django_user_model
    ):
        from django.contrib.auth.models import Permission

        looker = django_user_model.objects.create_user("looker", is_staff=True)
        looker.user_permissions.add(Permission.objects.get(codename="view_delivery"))
        client.force_login(looker)

        assert offered(client, "webhooks_delivery") == set()
