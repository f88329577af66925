"""A document under a legal hold can be neither deleted nor replaced."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from rest_framework.test import APIClient

from access.grants import Scope
from access.models import ApiKey
from core.exceptions import UnknownIndex
from documents.exceptions import DocumentHeld
from documents.models import Artifact
from documents.services import remove_artifact, update_artifact
from indexing.models import Index
from indexing.removal import continue_removals, remove_index
from tests.clients import session_with_rights
from tests.factories import give, load_index

pytestmark = pytest.mark.django_db

TEXT = "The lamp is lit at sunset."
ARTIFACTS = "/api/v1/indexes/plain/artifacts/"


@pytest.fixture
def held(build) -> Artifact:
    return update_artifact(give(TEXT, title="Lamp", external_id="lamp").pk, is_held=True)


def with_key(scope: Scope = Scope.MANAGE) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue(scope, scope=scope)[1]}")
    return client


def change(client: APIClient, artifact: Artifact, **fields: Any):
    return client.patch(f"/api/v1/artifacts/{artifact.pk}/", fields, format="json")


def is_held(artifact: Artifact) -> bool:
    return Artifact.objects.get(pk=artifact.pk).is_held


class TestChanging:
    def test_begins_and_ends_without_a_change_of_the_document(self, build):
        artifact = give(TEXT)
        client = with_key()

        begun = change(client, artifact, is_held=True).json()
        ended = change(client, artifact, is_held=False).json()

        assert (begun["is_held"], ended["is_held"]) == (True, False)
        for answer in (begun, ended):
            assert answer["revision"] == artifact.revision
        assert Artifact.objects.get().updated_at == artifact.updated_at

    def test_needs_the_scope_manage(self, held):
        answer = change(with_key(Scope.WRITE), held, is_held=False)

        assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
        assert is_held(held)

    def test_needs_the_scope_for_the_index_of_the_document(self, held):
        client = session_with_rights(
            {"scope": Scope.WRITE, "indexes": ["plain"]},
            {"scope": Scope.MANAGE, "indexes": ["library"]},
        )

        answer = change(client, held, is_held=False)

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_artifact")
        assert is_held(held)
        assert change(client, held, title="Lamps").status_code == 200

    def test_changes_from_a_session_that_may_manage_the_index(self, held):
        client = session_with_rights({"scope": Scope.MANAGE, "indexes": ["plain"]})

        assert change(client, held, is_held=False).json()["is_held"] is False

    def test_stays_when_other_fields_of_a_form_are_changed(self, held):
        answer = with_key().patch(
            f"/api/v1/artifacts/{held.pk}/", {"title": "Lamps"}, format="multipart"
        )

        assert (answer.json()["title"], answer.json()["is_held"]) == ("Lamps", True)

    @pytest.mark.parametrize("value", [None, "maybe", 1])
    def test_refuses_what_is_neither_true_nor_false(self, held, value):
        answer = change(with_key(), held, is_held=value)

        assert (answer.status_code, answer.json()["field"]) == (400, "is_held")


class TestRefusals:
    """Each would change or delete the content of the held document."""

    def delete(self, client, held):
        return client.delete(f"/api/v1/artifacts/{held.pk}/")

    def replace_by_text(self, client, held):
        path = f"/api/v1/artifacts/{held.pk}/content"
        return client.put(path, {"text": "The lamp is broken."}, format="json")

    def replace_by_file(self, client, held):
        file = SimpleUploadedFile("lamp.txt", b"The lamp is broken.")
        path = f"/api/v1/artifacts/{held.pk}/content"
        return client.put(path, {"file": file}, format="multipart")

    def add_other_content(self, client, held):
        given = {"text": "The lamp is broken.", "external_id": "lamp"}
        return client.post(ARTIFACTS, given, format="json")

    def remove_index(self, client, held):
        return client.delete("/api/v1/indexes/plain/?confirm=plain")

    @pytest.mark.parametrize(
        "attempt",
        ["delete", "replace_by_text", "replace_by_file", "add_other_content", "remove_index"],
    )
    def test_answer_409_until_the_hold_ends(self, held, attempt):
        client = with_key()

        refused = getattr(self, attempt)(client, held)

        assert (refused.status_code, refused.json()["code"]) == (409, "document_held")
        assert "legal hold" in refused.json()["detail"]
        assert "is_held false" in refused.json()["fix"]
        kept = Artifact.objects.get()
        assert (kept.sha256, kept.revision) == (held.sha256, held.revision)
        assert kept.pages.get().text == TEXT
        change(client, held, is_held=False)
        assert getattr(self, attempt)(client, held).status_code in {200, 202}

    def test_are_verdicts_of_a_batch(self, held):
        lines = [{"text": "The lamp is broken.", "external_id": "lamp"}, {"text": "Another."}]
        body = "\n".join(map(json.dumps, lines))

        answer = with_key().post(f"{ARTIFACTS}batch", body, content_type="application/x-ndjson")

        first, second = map(json.loads, answer.getvalue().splitlines())
        assert (first["verdict"], first["error"]["code"]) == ("rejected", "document_held")
        assert second["verdict"] == "added"

    def test_do_not_reveal_a_document_to_those_who_may_not_see_it(self, held):
        update_artifact(held.pk, groups=["keepers"])
        _, secret = ApiKey.issue("guest", scope=Scope.MANAGE, groups=["guests"])
        client = APIClient(headers={"Authorization": f"Bearer {secret}"})

        assert self.delete(client, held).status_code == 404

    def test_leave_what_changes_no_content(self, held):
        client = with_key()

        again = client.post(ARTIFACTS, {"text": TEXT, "external_id": "lamp"}, format="json")
        renamed = change(client, held, title="Lamps", metadata={"year": 1911})

        assert (again.status_code, renamed.status_code) == (200, 200)
        assert is_held(held)


class TestRemovalOfItsIndex:
    def test_waits_for_a_hold_that_began_after_it(self, build, store, monkeypatch):
        artifact = give(TEXT)
        give("The tide turns at noon.")
        monkeypatch.setattr("indexing.removal._continue_removal", lambda index, deadline: None)
        remove_index("plain")
        monkeypatch.undo()
        update_artifact(artifact.pk, is_held=True)

        continue_removals()

        assert list(Artifact.objects.all()) == [artifact]
        assert Index.objects.filter(pk="plain").exists()
        update_artifact(artifact.pk, is_held=False)
        continue_removals()
        assert not Artifact.objects.exists()

    def test_names_the_number_of_held_documents(self, held):
        with pytest.raises(DocumentHeld, match="1 of its documents"):
            remove_index("plain")

        assert Index.objects.get(pk="plain").removal_requested_at is None

    def test_does_not_concern_other_indexes(self, held, store):
        load_index("library")

        assert remove_index("library").is_complete
        with pytest.raises(UnknownIndex):
            remove_index("nothing")


class TestAdmin:
    def act(self, client, action: str, artifact: Artifact, **given: str) -> str:
        url = reverse("admin:documents_artifact_changelist")
        asked = {"action": action, "_selected_action": [artifact.pk], **given}
        return client.post(url, asked, follow=True).content.decode()

    def test_begins_and_ends_holds(self, build, admin_client):
        artifact = give(TEXT)

        said = self.act(admin_client, "begin_hold", artifact)

        assert "1 document is held." in said
        assert is_held(artifact)
        assert "1 document is not held." in self.act(admin_client, "end_hold", artifact)
        assert not is_held(artifact)

    def test_holds_the_files_of_a_zip_with_it(self, build, admin_client):
        whole, part = give(TEXT), give("Its file.")
        Artifact.objects.filter(pk=part.pk).update(part_of=whole)

        assert "1 document is held." in self.act(admin_client, "begin_hold", whole)

        assert is_held(part)
        Artifact.objects.filter(pk=whole.pk).update(is_held=False)
        assert "(legal hold)" in self.act(admin_client, "delete_selected", whole, post="yes")
        assert Artifact.objects.count() == 2

    def test_does_not_delete_a_selection_with_a_held_document(self, held, admin_client):
        said = self.act(admin_client, "delete_selected", held, post="yes")

        assert "Lamp (legal hold)" in said
        assert Artifact.objects.exists()

    def test_does_not_delete_a_held_document_on_its_page(self, held, admin_client):
        url = reverse("admin:documents_artifact_delete", args=[held.pk])

        said = admin_client.post(url, {"post": "yes"}).content.decode()

        assert "Lamp (legal hold)" in said
        assert Artifact.objects.exists()


def test_services_refuse_the_deletion(held):
    with pytest.raises(DocumentHeld):
        remove_artifact(held.pk)

    assert Artifact.objects.exists()
