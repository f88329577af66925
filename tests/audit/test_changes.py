"""The changes of a document, from the audit log."""

import pytest

from access.grants import Scope
from documents.models import Artifact
from tests.clients import client_with_key, session_with_rights

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(build) -> str:
    client = client_with_key(scope=Scope.WRITE)
    body = {"text": "Herons wait.", "external_id": "h"}
    artifact_id = client.post("/api/v1/indexes/plain/artifacts/", body, format="json").json()["id"]
    path = f"/api/v1/artifacts/{artifact_id.upper()}/"
    client.put(f"{path}content", {"text": "Herons fly."}, format="json")
    client.patch(path, {"title": "Herons"}, format="json")
    client.patch(path, {"tittle": "Herons"}, format="json")  # refused
    return artifact_id


def list_changes(client, artifact_id: str, **query):
    return client.get(f"/api/v1/artifacts/{artifact_id}/changes/", query).json()


class TestChanges:
    def test_are_those_that_were_made_newest_first(self, document):
        answer = list_changes(client_with_key(), document)

        shown = [(each["method"], each["status"]) for each in answer["results"]]
        assert shown == [("PATCH", 200), ("PUT", 202), ("POST", 202)]
        assert answer["count"] == 3

    def test_name_the_revision_of_each(self, document):
        client = client_with_key()
        client.patch(f"/api/v1/artifacts/{document}/", {"is_held": True}, format="json")

        answer = list_changes(client, document)

        *earlier, newest = sorted(each["revision"] for each in answer["results"])
        assert [each["revision"] for each in answer["results"]] == [newest, *reversed(earlier)]
        assert newest == earlier[-1] > earlier[-2] > earlier[-3]  # a hold makes no revision
        assert newest == client.get(f"/api/v1/artifacts/{document}/").json()["revision"]

    def test_do_not_list_reads(self, document, settings):
        settings.STRATA_AUDIT_LOG_READS = True
        client = client_with_key()
        list_changes(client, document)

        assert list_changes(client, document)["count"] == 3

    def test_are_given_in_pages(self, document):
        answer = list_changes(client_with_key(), document, limit=1, offset=1)

        assert [each["method"] for each in answer["results"]] == ["PUT"]

    @pytest.mark.parametrize(
        ("managed", "is_named"),
        [
            ({"indexes": ["library"]}, False),
            ({"indexes": ["plain"], "groups": ["board"]}, True),
            ({"indexes": ["plain"]}, True),
        ],
    )
    def test_name_who_made_them_to_those_who_manage_this_document(
        self, document, managed, is_named
    ):
        Artifact.objects.update(groups=["board", "staff"])
        reads = {"scope": Scope.SEARCH, "indexes": ["plain"], "groups": ["staff"]}
        client = session_with_rights(reads, {"scope": Scope.MANAGE, **managed})

        [*_, first] = list_changes(client, document)["results"]

        assert (first["name"] is not None) == is_named

    @pytest.mark.parametrize(("scope", "is_named"), [(Scope.WRITE, False), (Scope.MANAGE, True)])
    def test_name_who_made_them_to_those_who_manage(self, document, scope, is_named):
        [*_, first] = list_changes(client_with_key(scope=scope), document)["results"]

        assert first["caller"] == "key"
        assert (first["name"] is not None) == is_named
        assert "address" not in first
