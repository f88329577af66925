import uuid
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tests.webhooks.conftest import SECRET, wait_out_backoff
from webhooks import sending, services
from webhooks.models import Delivery
from webhooks.sending import DeliveryResponse
from webhooks.services import (
    BACKOFF_SECONDS,
    claim_deliveries,
    clean_up_deliveries,
    emit_event,
    retry_deliveries,
    save_response,
    send_due_deliveries,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def asleep(monkeypatch):
    """Messages start no worker: each test sends its deliveries itself."""
    monkeypatch.setattr("webhooks.tasks.send_due_deliveries.delay", lambda: None)


@pytest.fixture
def urls(settings):
    settings.STRATA_WEBHOOK_SECRET = SECRET
    settings.STRATA_WEBHOOK_URLS = ["http://one.example/", "http://two.example/"]
    return settings.STRATA_WEBHOOK_URLS


class TestEmitEvent:
    def test_writes_a_row_for_every_receiver(self, urls):
        artifact_id = uuid.uuid4()

        emit_event("artifact.ready", {"artifact_id": artifact_id})

        assert sorted(Delivery.objects.values_list("url", flat=True)) == urls
        assert Delivery.objects.first().event == "artifact.ready"
        assert Delivery.objects.first().payload == {"artifact_id": str(artifact_id)}

    def test_writes_nothing_without_receivers(self, settings):
        settings.STRATA_WEBHOOK_URLS = []

        emit_event("artifact.ready", {})

        assert not Delivery.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_is_rolled_back_with_its_transaction(self, urls):
        with transaction.atomic():
            emit_event("artifact.ready", {})
            transaction.set_rollback(True)

        assert not Delivery.objects.exists()


class TestSendDueDeliveries:
    def test_sends_all_due_deliveries_once(self, receiver):
        for number in range(services.BATCH_SIZE * 2 + 1):
            emit_event("artifact.ready", {"number": number})

        assert send_due_deliveries() == services.BATCH_SIZE * 2 + 1
        assert send_due_deliveries() == 0

        assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 17
        assert len(receiver.received) == 17
        assert set(Delivery.objects.values_list("state", "last_status", "attempts")) == {
            ("delivered", 204, 1)
        }

    @pytest.mark.parametrize("behaviour", [500, 404, 302, "hang", "reset"])
    def test_retries_a_failed_delivery_later(self, receiver, behaviour):
        receiver.behaviours = [behaviour, 200]
        emit_event("artifact.ready", {})

        assert send_due_deliveries() == 1
        assert send_due_deliveries() == 0  # not due yet
        waiting = Delivery.objects.get()
        wait_out_backoff()
        assert send_due_deliveries() == 1

        assert waiting.state == "due"
        assert waiting.last_error
        delivered = Delivery.objects.get()
        assert (delivered.state, delivered.attempts) == ("delivered", 2)
        assert delivered.last_error == ""
        assert delivered.delivered_at is not None

    def test_waits_longer_after_each_attempt_and_gives_up_after_a_day(self, receiver):
        receiver.behaviours = [503]
        emit_event("artifact.ready", {})
        waits = []

        for _ in range(Delivery.max_attempts() - 1):
            tried_at = timezone.now()
            send_due_deliveries()
            waits.append((Delivery.objects.get().next_attempt_at - tried_at).total_seconds())
            wait_out_backoff()
        send_due_deliveries()

        assert waits == pytest.approx(BACKOFF_SECONDS, abs=3)
        assert 86_400 < sum(BACKOFF_SECONDS) < 2 * 86_400
        given_up = Delivery.objects.get()
        assert (given_up.state, given_up.last_error) == ("given_up", "It answered 503.")
        wait_out_backoff()
        assert send_due_deliveries() == 0

    def test_gives_up_at_once_after_410(self, receiver):
        receiver.behaviours = [410]
        emit_event("artifact.ready", {})

        send_due_deliveries()

        assert Delivery.objects.get().state == "given_up"

    def test_does_not_delay_others_for_a_silent_receiver(self, make_receiver):
        silent, well = make_receiver(), make_receiver()
        silent.behaviours = ["hang"]
        for number in range(services.BATCH_SIZE * 2):
            emit_event("artifact.ready", {"number": number})

        send_due_deliveries()

        assert len(well.received) == services.BATCH_SIZE * 2
        assert len(silent.received) <= services.BATCH_SIZE

    @pytest.mark.django_db(transaction=True)
    def test_has_no_transaction_open_while_it_waits(self, receiver, monkeypatch):
        seen = []
        post_all = sending.post_deliveries

        def watched(*given):
            seen.append(connection.in_atomic_block)
            return post_all(*given)

        monkeypatch.setattr(sending, "post_deliveries", watched)
        emit_event("artifact.ready", {})

        send_due_deliveries()

        assert seen == [False]

    def test_stops_between_two_batches_on_a_stop_request(self, receiver):
        emit_event("artifact.ready", {})

        assert send_due_deliveries(should_stop=lambda: True) == 0

        assert receiver.received == []

    def test_skips_receivers_that_are_no_longer_configured(self, receiver, settings):
        emit_event("artifact.ready", {})
        settings.STRATA_WEBHOOK_URLS = []

        assert send_due_deliveries() == 0


class TestClaimDeliveries:
    def test_claims_no_delivery_for_two_workers(self, urls):
        emit_event("artifact.ready", {})

        first, second = claim_deliveries(1), claim_deliveries(5)

        assert len(first.rows) == len(second.rows) == 1
        assert first.rows.get() != second.rows.get()
        assert claim_deliveries(5) is None

    def test_claims_deliveries_of_a_dead_worker(self, urls):
        emit_event("artifact.ready", {})
        claim_deliveries(2)
        Delivery.objects.update(leased_until=timezone.now() - timedelta(seconds=1))

        claim = claim_deliveries(2)

        assert {delivery.attempts for delivery in claim.rows} == {2}

    def test_claims_deliveries_with_fewest_attempts_first(self, urls):
        emit_event("artifact.ready", {})
        Delivery.objects.update(attempts=3)
        emit_event("artifact.failed", {})

        claim = claim_deliveries(2)

        assert {delivery.event for delivery in claim.rows} == {"artifact.failed"}


class TestSaveResponse:
    def test_changes_nothing_after_a_lost_lease(self, urls):
        emit_event("artifact.ready", {})
        frozen = claim_deliveries(1)
        delivery = frozen.rows.get()
        Delivery.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
        others = {d.pk: claim.token for claim in [claim_deliveries(2)] for d in claim.rows}

        save_response(frozen, delivery, DeliveryResponse(200))

        row = Delivery.objects.get(pk=delivery.pk)
        assert (row.state, row.lease_token) == ("due", others[row.pk])


class TestRetryDeliveries:
    def test_resets_the_attempts(self, receiver):
        receiver.behaviours = [410, 200]
        emit_event("artifact.ready", {})
        send_due_deliveries()

        assert retry_deliveries(Delivery.objects.all()) == 1
        send_due_deliveries()

        row = Delivery.objects.get()
        assert (row.state, row.attempts) == ("delivered", 1)


class TestCleanUpDeliveries:
    def test_deletes_old_successful_deliveries_and_keeps_given_up_ones(self, urls):
        now = timezone.now()
        for state, days in (("delivered", 8), ("delivered", 6), ("given_up", 8)):
            Delivery.objects.create(
                url=urls[0], event=f"{state} {days}", payload={}, state=state,
                delivered_at=now - timedelta(days=days),
            )  # fmt: skip

        clean_up_deliveries()

        assert set(Delivery.objects.values_list("event", flat=True)) == {
            "delivered 6",
            "given_up 8",
        }

    def test_gives_up_deliveries_that_killed_their_worker_each_time(self, urls):
        emit_event("artifact.ready", {})
        Delivery.objects.update(attempts=Delivery.max_attempts())

        clean_up_deliveries()

        assert set(Delivery.objects.values_list("state", flat=True)) == {"given_up"}

    def test_gives_up_deliveries_to_receivers_no_longer_configured(self, urls, settings):
        emit_event("artifact.ready", {})
        settings.STRATA_WEBHOOK_URLS = urls[:1]

        clean_up_deliveries()

        assert Delivery.objects.get(url=urls[0]).state == "due"
        gone = Delivery.objects.get(url=urls[1])
        assert (gone.state, gone.last_error) == (
            "given_up",
            "Its address is no longer configured.",
        )
