import threading

import pytest

from tests.webhooks.conftest import wait_out_backoff
from webhooks import services, tasks
from webhooks.models import Delivery
from webhooks.tasks import DeliveryWorker

pytestmark = pytest.mark.django_db


class TestSendDueDeliveries:
    def test_runs_after_the_transaction_is_committed(
        self, receiver, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            services.emit_event("build.promoted", {"index": "plain"})
            before_commit = len(receiver.received)

        assert before_commit == 0
        assert Delivery.objects.get().state == "delivered"

    def test_runs_again_before_the_next_reconciliation_if_needed(self, receiver, monkeypatch):
        asked = []
        monkeypatch.setattr(tasks.send_due_deliveries, "delay", lambda: None)
        monkeypatch.setattr(
            tasks.send_due_deliveries, "apply_async", lambda countdown: asked.append(countdown)
        )
        receiver.behaviours = [500]
        services.emit_event("artifact.ready", {})

        tasks.send_due_deliveries()
        wait_out_backoff()
        tasks.send_due_deliveries()  # the next is minutes away: the reconciliation's

        assert asked == [pytest.approx(services.BACKOFF_SECONDS[0], abs=2)]

    def test_does_not_fail_the_write_without_a_broker(
        self, receiver, monkeypatch, django_capture_on_commit_callbacks, caplog
    ):
        def refuse():
            raise ConnectionError("no broker")

        monkeypatch.setattr(tasks.send_due_deliveries, "delay", refuse)

        with django_capture_on_commit_callbacks(execute=True):
            services.emit_event("artifact.ready", {})
        monkeypatch.undo()
        assert "no broker" in caplog.text


class TestReconcileDeliveries:
    def test_enqueues_deliveries_without_a_signal(self, receiver):
        Delivery.objects.bulk_create(
            [Delivery(url=receiver.url, event="artifact.ready", payload={})]
        )

        tasks.reconcile_deliveries()

        assert Delivery.objects.get().state == "delivered"

    def test_enqueues_nothing_if_nothing_is_due(self, receiver, monkeypatch):
        receiver.behaviours = [500]
        services.emit_event("artifact.ready", {})
        tasks.delivery_worker.run("all")
        wakes = []
        monkeypatch.setattr(tasks.send_due_deliveries, "delay", lambda: wakes.append(1))

        tasks.reconcile_deliveries()

        assert wakes == []


class TestDeliveryWorker:
    def test_runs_one_thread_that_includes_new_deliveries(self, monkeypatch):
        is_at_work, may_go_on = threading.Event(), threading.Event()
        calls = []

        def deliver(*, should_stop):
            calls.append(threading.current_thread().name)
            is_at_work.set()
            may_go_on.wait(5)
            return 0

        monkeypatch.setattr(services, "send_due_deliveries", deliver)
        rounds = DeliveryWorker()
        first = threading.Thread(target=rounds.run, args=["all"], name="first")
        first.start()
        is_at_work.wait(5)

        rounds.run("all")  # goes at once, and leaves its work to the first
        may_go_on.set()
        first.join(5)

        assert calls == ["first", "first"]

    def test_sends_nothing_after_a_stop_request(self, receiver):
        services.emit_event("artifact.ready", {})
        rounds = DeliveryWorker()
        rounds.stop_requested.set()

        rounds.run("all")

        assert Delivery.objects.get().attempts == 0
        assert rounds.wait_idle(0)
