"""The log of requests: one line each, with an id and without what a caller wrote."""

import io
import json
import logging
import logging.config

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from access.models import ApiKey
from tests.factories import give, sync

pytestmark = pytest.mark.django_db


@pytest.fixture
def key() -> tuple[ApiKey, str]:
    return ApiKey.issue("the reader")


@pytest.fixture
def client(key) -> APIClient:
    made = APIClient()
    made.credentials(HTTP_AUTHORIZATION=f"Bearer {key[1]}")
    return made


@pytest.fixture
def lines(client):
    """Calls the function, and returns what the service logs meanwhile, as JSON."""
    formatter = logging.config.DictConfigurator(settings.LOGGING).configure_formatter(
        dict(settings.LOGGING["formatters"]["json"])
    )
    from core.request_id import RequestIdFilter

    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter)
    handler.addFilter(RequestIdFilter())
    root, requests = logging.getLogger(), logging.getLogger("strata.requests")
    level = requests.level
    root.addHandler(handler)
    requests.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    root.removeHandler(handler)
    requests.setLevel(level)


class TestRequestLog:
    def test_says_who_asked_for_what(self, client, key, build, lines):
        artifact = give("Herons wait.")

        answer = client.get(f"/api/v1/artifacts/{artifact.pk}/", HTTP_X_REQUEST_ID="from-a-proxy")

        [line] = lines()
        assert line["level"] == "INFO"
        assert (line["method"], line["status"]) == ("GET", 200)
        assert line["route"] == "/api/v1/artifacts/<artifact_id>"
        assert line["artifact_id"] == str(artifact.pk)
        assert line["key_id"] == key[0].pk
        assert line["user_id"] is None
        assert line["milliseconds"] > 0
        assert line["request_id"] == answer["X-Request-ID"] == "from-a-proxy"
        assert line["time"].startswith("20")

    def test_says_which_key_asked_at_the_addresses_of_guests(self, client, key, lines):
        client.get("/v1/vector_stores")

        [line] = lines()
        assert (line["route"], line["key_id"]) == ("/v1/vector_stores", key[0].pk)

    def test_holds_no_query_no_text_and_no_key(self, client, key, build, lines):
        sync(build, give("The zanzibarine heron waits."))

        client.get("/api/v1/search/pages", {"index": "plain", "q": "zanzibarine"})
        client.post(
            "/api/v1/search/pages", {"index": "plain", "query": "zanzibarine"}, format="json"
        )
        client.post("/api/v1/indexes/plain/artifacts/", {"text": "zanzibarine"}, format="json")
        client.get("/api/v1/indexes/zanzibarine/nowhere")

        found = lines()
        assert len(found) == 3  # an unknown path is not logged
        assert not any("zanzibarine" in str(line) or key[1] in str(line) for line in found)

    def test_reads_no_user_for_a_page(self, django_assert_num_queries, admin_client, lines):
        with django_assert_num_queries(0):
            admin_client.get("/metrics-of-nothing")
            admin_client.get("/health/live")

        [line] = lines()
        assert (line["route"], line["user_id"]) == ("/health/live", None)

    @pytest.mark.parametrize("given", ["", "two words", "x" * 65, "new\nline"])
    def test_makes_an_id_where_none_can_be_used(self, client, build, lines, given):
        answer = client.get("/api/v1/indexes/", HTTP_X_REQUEST_ID=given)

        [line] = lines()
        assert line["request_id"] == answer["X-Request-ID"] != given
        assert len(line["request_id"]) == 32

    def test_is_left_out_below_the_level(self, client, build, lines):
        logging.getLogger("strata.requests").setLevel(logging.WARNING)

        client.get("/api/v1/indexes/")

        assert lines() == []


@pytest.mark.parametrize("path", ["/", "/api/v1/indexes/", "/health/ready"])
def test_a_foreign_host_writes_no_traceback(client, lines, path):
    answer = client.get(path, HTTP_HOST="elsewhere.example")

    assert answer.status_code == 400
    assert b"ALLOWED_HOSTS" in answer.content
    assert lines() == []
