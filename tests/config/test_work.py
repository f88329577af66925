"""What ``GET work/`` says of waiting and failed work."""

from typing import Any

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from access.grants import Scope
from access.models import ApiKey
from documents.models import Artifact
from indexing.models import Node
from tests.factories import give, sync
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

ERROR = "The model returned nothing."


@pytest.fixture(autouse=True)
def without_kept_checks() -> None:
    cache.clear()


def read_work(**key: Any) -> dict[str, Any]:
    client = APIClient()
    secret = ApiKey.issue("operator", **{"scope": Scope.MANAGE, **key})[1]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    response = client.get("/api/v1/work/")
    assert response.status_code == 200, response.content
    return response.json()


def find(rows: list[dict[str, Any]], work: str) -> dict[str, Any]:
    [found] = [row for row in rows if row["work"] == work]
    return found


class TestWaitingWork:
    def test_is_counted_by_index_with_the_age_of_the_oldest(self, build):
        sync(build, give("Herons wait."))
        Node.objects.update(state=Node.State.PENDING)

        waiting = find(read_work()["waiting"], "embedding")

        assert waiting["index"] == "plain"
        assert waiting["count"] == Node.objects.count()
        assert waiting["oldest_seconds"] >= 0

    def test_of_other_indexes_is_not_shown(self, build):
        sync(build, give("Herons wait."))
        Node.objects.update(state=Node.State.PENDING)
        Delivery.objects.create(url="https://receiver.example", event="e", payload={})

        work = read_work(indexes=["other"])

        assert work["waiting"] == []
        assert work["checks"] == []

    def test_that_belongs_to_no_index_is_shown_to_those_who_see_all(self, build):
        Delivery.objects.create(url="https://receiver.example", event="e", payload={})

        waiting = find(read_work()["waiting"], "sending webhooks")

        assert waiting["index"] is None
        assert waiting["count"] == 1


class TestFailedWork:
    def test_is_grouped_by_its_error(self, build):
        sync(build, *(give(f"Heron {number} waits.") for number in range(3)))
        Node.objects.update(state=Node.State.FAILED, last_error=ERROR)

        failed = find(read_work()["failures"], "embedding")

        assert failed == {
            "work": "embedding", "index": "plain", "error": ERROR, "count": 3, "is_retryable": True,
        }  # fmt: skip

    def test_names_files_that_could_not_be_read(self, build):
        Artifact.objects.filter(pk=give("Herons wait.").pk).update(
            state=Artifact.State.FAILED, error_detail="The PDF is damaged."
        )

        failed = find(read_work()["failures"], "reading files")

        assert failed["error"] == "The PDF is damaged."

    @pytest.mark.parametrize(
        ("code", "is_retryable"),
        [("encrypted_pdf", False), ("empty_file", False), ("parse_timeout", True), ("", True)],
    )
    def test_that_only_another_file_can_cure_is_not_retryable(self, build, code, is_retryable):
        Artifact.objects.filter(pk=give("Herons wait.").pk).update(
            state=Artifact.State.FAILED, error_code=code, error_detail="It cannot be read."
        )

        assert find(read_work()["failures"], "reading files")["is_retryable"] is is_retryable


def test_a_key_that_searches_may_not_see_it(build):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('reader', scope=Scope.SEARCH)[1]}")

    assert client.get("/api/v1/work/").status_code == 403
