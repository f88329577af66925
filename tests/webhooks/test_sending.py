import json

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.hostile import SlowNames
from tests.webhooks.conftest import SECRET
from webhooks import sending
from webhooks.models import Delivery
from webhooks.sending import DeliveryResponse, decode_secret, post_deliveries

pytestmark = pytest.mark.django_db


def make_delivery(url: str, **payload) -> Delivery:
    return Delivery.objects.create(url=url, event="artifact.ready", payload=payload)


class TestPostDeliveries:
    def test_signs_deliveries_as_the_standard_library_verifies_them(self, receiver):
        delivery = make_delivery(receiver.url, title="Überschrift 标题")

        outcomes = post_deliveries([delivery], SECRET)

        assert outcomes == [DeliveryResponse(204)]
        [(headers, body)] = receiver.received
        verified = Webhook(SECRET).verify(body, headers)
        assert verified["type"] == "artifact.ready"
        assert verified["data"] == {"title": "Überschrift 标题"}
        assert headers["webhook-id"] == str(delivery.pk)

    def test_signs_the_body_with_the_secret(self, receiver):
        post_deliveries([make_delivery(receiver.url, n=1)], SECRET)

        [(headers, body)] = receiver.received
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(body + b" ", headers)
        with pytest.raises(WebhookVerificationError):
            Webhook("whsec_" + "b3RoZXI" * 6).verify(body, headers)

    def test_sends_the_same_body_under_the_same_id_each_time(self, receiver):
        make_delivery(receiver.url, b=1, a=2)

        for _ in range(2):  # each attempt reads the row, whose keys PostgreSQL sorts
            post_deliveries([Delivery.objects.get()], SECRET)

        first, second = receiver.received
        assert first[1] == second[1]
        assert first[0]["webhook-id"] == second[0]["webhook-id"]
        assert json.loads(first[1])["data"] == {"b": 1, "a": 2}

    def test_follows_no_redirect(self, receiver):
        receiver.behaviours = ["redirect"]

        outcomes = post_deliveries([make_delivery(receiver.url)], SECRET)

        assert outcomes == [DeliveryResponse(302)]
        assert not outcomes[0].is_success
        assert len(receiver.received) == 1

    def test_does_not_wait_for_a_name_longer_than_for_an_answer(self, monkeypatch):
        names = SlowNames()
        monkeypatch.setattr("socket.getaddrinfo", names)
        monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.3)

        outcomes = post_deliveries([make_delivery("http://slow.example/hook")], SECRET)

        assert outcomes == [DeliveryResponse(error="No answer within 0.3 seconds.")]
        assert not names.has_answered.is_set()
        names.is_over.set()

    @pytest.mark.parametrize("behaviour", ["hang", "drip"])
    def test_waits_at_most_the_timeout(self, receiver, behaviour):
        receiver.behaviours = [behaviour]

        [outcome] = post_deliveries([make_delivery(receiver.url)], SECRET)

        assert outcome == DeliveryResponse(error="No answer within 1.5 seconds.")

    def test_returns_the_error_of_a_missing_answer(self, receiver):
        receiver.behaviours = ["reset"]

        [outcome] = post_deliveries([make_delivery(receiver.url)], SECRET)

        assert outcome.status is None
        assert outcome.error.startswith(("ReadError", "RemoteProtocolError"))

    def test_returns_the_outcome_of_each_delivery(self, make_receiver):
        well, silent = make_receiver(), make_receiver()
        silent.behaviours = ["hang"]
        nowhere = make_delivery("http://127.0.0.1:1/hook")

        outcomes = post_deliveries(
            [make_delivery(silent.url), make_delivery(well.url), nowhere], SECRET
        )

        assert [outcome.status for outcome in outcomes] == [None, 204, None]
        assert outcomes[2].error.startswith("ConnectError")


class TestDecodeSecret:
    @pytest.mark.parametrize(
        ("secret", "complaint"),
        [
            ("c2VjcmV0IHdob3NlIGtleSBoYXMgMzIgYnl0ZXMuLi4=", "does not start with whsec_"),
            ("whsec_not*base64", "is not base64"),
            ("whsec_c2hvcnQ=", "holds 5 bytes"),
        ],
    )
    def test_rejects_invalid_secrets(self, secret, complaint):
        with pytest.raises(ValueError, match=complaint.replace("*", r"\*")):
            decode_secret(secret)
