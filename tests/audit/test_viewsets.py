"""The endpoints and the admin list of the audit."""

import csv
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from access.grants import Scope
from access.models import ApiKey
from audit import tasks
from audit.models import AuditRow
from tests.clients import client_with_key, session_with_rights

pytestmark = pytest.mark.django_db
PATHS = ["", "export", "verify/"]


@pytest.fixture
def client() -> APIClient:
    return client_with_key()


@pytest.fixture
def rows(client) -> list[AuditRow]:
    """Three keys made by one key."""
    for number in range(3):
        client.post("/api/v1/keys/", {"name": f"agent {number}"}, format="json")
    return list(AuditRow.objects.order_by("id"))


def list_audit(client: APIClient, **filters) -> dict:
    return client.get("/api/v1/audit/", filters).json()


class TestList:
    def test_shows_the_newest_first_in_pages(self, client, rows):
        page = list_audit(client, limit=2)

        assert page["count"] == 3
        assert [row["id"] for row in page["results"]] == [rows[2].pk, rows[1].pk]
        assert "offset=2" in page["next"]
        newest = ApiKey.objects.get(name="agent 2")
        assert page["results"][0]["document"] == str(newest.pk)

    def test_filters_by_time(self, client, rows):
        now = timezone.now()
        AuditRow.objects.filter(pk=rows[0].pk).update(at=now - timedelta(days=2))

        old = list_audit(client, until=(now - timedelta(days=1)).isoformat())
        new = list_audit(client, since=(now - timedelta(days=1)).isoformat())

        assert [row["id"] for row in old["results"]] == [rows[0].pk]
        assert [row["id"] for row in new["results"]] == [rows[2].pk, rows[1].pk]

    def test_filters_by_index(self, client, rows):
        AuditRow.objects.filter(pk=rows[1].pk).update(index="plain")

        assert [row["id"] for row in list_audit(client, index="plain")["results"]] == [rows[1].pk]
        assert list_audit(client, index="other")["count"] == 0

    def test_filters_by_key(self, client, rows):
        other = client_with_key()
        other.post("/api/v1/keys/", {"name": "of the other"}, format="json")
        key = ApiKey.objects.latest("id").pk - 1

        found = list_audit(client, key=key)

        assert [row["caller_id"] for row in found["results"]] == [key]

    def test_names_a_wrong_filter(self, client):
        answer = client.get("/api/v1/audit/", {"since": "yesterday"})

        assert (answer.status_code, answer.json()["field"]) == (400, "since")


class TestRights:
    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize(
        ("rights", "code"),
        [
            ({"scope": Scope.WRITE}, "missing_scope"),
            ({"indexes": ["plain"]}, "needs_all_indexes"),
            ({"groups": ["keepers"]}, "needs_all_documents"),
        ],
    )
    def test_are_needed_for_everything(self, path, rights, code):
        clients = client_with_key(**rights), session_with_rights({"scope": Scope.MANAGE, **rights})
        for client in clients:
            answer = client.get(f"/api/v1/audit/{path}")

            assert (answer.status_code, answer.json()["code"]) == (403, code)

    def test_allow_a_session_that_manages_everything(self):
        client = session_with_rights({"scope": Scope.MANAGE})

        assert {client.get(f"/api/v1/audit/{path}").status_code for path in PATHS} == {200}


class TestExport:
    def test_has_the_rows_of_the_list(self, client, rows):
        response = client.get("/api/v1/audit/export", headers={"Accept": "text/csv"})

        text = b"".join(response).decode()
        read = list(csv.DictReader(text.splitlines()))
        listed = list_audit(client)["results"][::-1]
        assert response["Content-Type"] == "text/csv"
        assert response.streaming
        assert read == [
            {name: "" if value is None else str(value) for name, value in row.items()}
            for row in listed
        ]

    def test_takes_the_filters(self, client, rows):
        response = client.get("/api/v1/audit/export", {"index": "nothing"})

        assert len(b"".join(response).splitlines()) == 1


class TestErase:
    def test_drops_the_name_and_leaves_the_chain(self, client, rows):
        tasks.seal_and_prune()
        subject = rows[0].subject_id

        answer = client.delete(f"/api/v1/audit/subjects/{subject}/")

        assert answer.json() == {"subject": subject, "is_erased": True}
        erased = [row for row in list_audit(client)["results"] if row["subject"] == subject]
        assert [row["name"] for row in erased] == [None] * 3
        assert client.get("/api/v1/audit/verify/").json()["is_intact"]

    def test_has_a_row_itself(self, client, rows):
        client.delete(f"/api/v1/audit/subjects/{rows[0].subject_id}/")

        row = list_audit(client)["results"][0]
        assert row["route"] == "/api/v1/audit/subjects/<subject>"
        assert row["document"] == str(rows[0].subject_id)

    def test_of_an_unknown_subject_is_refused(self, client):
        answer = client.delete("/api/v1/audit/subjects/9/")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_subject")


class TestAdmin:
    def test_shows_who_did_what(self, admin_client, client, rows):
        page = admin_client.get("/admin/audit/auditrow/").content.decode()

        assert "/api/v1/keys" in page
        assert "127.0.0.1" in page

    def test_shows_what_was_erased(self, admin_client, client, rows):
        client.delete(f"/api/v1/audit/subjects/{rows[0].subject_id}/")

        assert "erased" in admin_client.get("/admin/audit/auditrow/").content.decode()

    def test_opens_a_row_and_changes_none(self, admin_client, rows):
        path = f"/admin/audit/auditrow/{rows[0].pk}"

        assert admin_client.get(f"{path}/change/").status_code == 200
        assert admin_client.post(f"{path}/change/", {"status": 1}).status_code == 403
        assert admin_client.post(f"{path}/delete/", {"post": "yes"}).status_code == 403
        assert admin_client.get("/admin/audit/auditrow/add/").status_code == 403
