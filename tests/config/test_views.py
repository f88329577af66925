import pytest
from rest_framework.test import APIClient

from tests.clients import client_with_key

URL = "/health/ready"


class TestReady:
    @pytest.fixture(autouse=True)
    def live(self, build):
        return build

    def test_tells_strangers_only_the_status(self):
        assert APIClient().get(URL).json() == {"status": "ready"}

    def test_does_not_tell_strangers_of_an_index(self):
        assert APIClient().get(f"{URL}?index=plain").status_code == 401

    def test_shows_the_checks_to_a_key(self):
        checks = client_with_key().get(f"{URL}?index=plain").json()["checks"]

        assert checks == {"database": "ok", "vectors": "ok", "index": "ok"}

    def test_answers_the_same_for_an_index_of_others_and_a_missing_one(self):
        client = client_with_key(indexes=["other"])

        hidden, missing = (client.get(f"{URL}?index={name}") for name in ("plain", "nothing"))

        assert hidden.status_code == 503
        assert hidden.json() == missing.json()
