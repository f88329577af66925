import pytest
from rest_framework.test import APIClient

from config.health import BEAT, record_heartbeats
from core.apps import list_queues
from tests.clients import client_with_key

URL = "/health/ready"


class TestReady:
    @pytest.fixture(autouse=True)
    def live(self, build):
        record_heartbeats([*list_queues(), BEAT])
        return build

    def test_shows_only_the_names_of_parts_without_a_key(self):
        assert APIClient().get(URL).json() == {"status": "ready", "problems": []}

    def test_requires_a_key_to_check_an_index(self):
        assert APIClient().get(f"{URL}?index=plain").status_code == 401

    def test_shows_the_checks_to_a_key(self):
        checks = client_with_key().get(f"{URL}?index=plain").json()["checks"]

        parts = ["database", "threads", "vectors", "disk", "workers", "beat", "documents", "index"]
        assert checks == dict.fromkeys(parts, "ok")

    def test_does_not_distinguish_hidden_and_missing_indexes(self):
        client = client_with_key(indexes=["other"])

        hidden, missing = (client.get(f"{URL}?index={name}") for name in ("plain", "nothing"))

        assert hidden.status_code == 503
        assert hidden.json() == missing.json()


@pytest.mark.parametrize("path", ["/nowhere/", "/admin/nowhere/", "/documents/nothing/"])
def test_an_unknown_address_is_a_page_with_links_for_a_browser(admin_client, path):
    answer = admin_client.get(path, HTTP_ACCEPT="text/html,*/*")

    assert answer.status_code == 404
    assert b"There is nothing at this address." in answer.content
    assert b'<a href="/documents/"' in answer.content


def test_an_unknown_address_is_text_for_a_program(client, db):
    answer = client.get("/nowhere/")

    assert answer.content == b"There is nothing at this address.\n"
