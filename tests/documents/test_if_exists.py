"""Uploads of a name that a document has: what is kept, what is replaced, and what is said of it."""

import unicodedata

import pytest

from documents.models import Artifact
from tests.documents.test_viewsets import ARTIFACTS, give, give_file, give_lines, one
from tests.documents.test_viewsets import api as api
from tests.factories import give as give_text
from tests.granting import Grant, client_of, grant_by_header

pytestmark = pytest.mark.django_db

NAME = "Größe für Ängström.md"
DECOMPOSED, COMPOSED = (unicodedata.normalize(form, NAME) for form in ("NFD", "NFC"))


class TestByDefault:
    def test_files_without_an_external_id_are_both_kept(self, api):
        first = give_file(api, b"First.").json()
        second = give_file(api, b"Second.").json()

        assert first["id"] != second["id"]
        assert (second["verdict"], second["replaced"]) == ("added", None)
        assert give_file(api, b"First.").json()["verdict"] == "unchanged"

    def test_the_same_external_id_replaces_and_says_what(self, api):
        first = give_file(api, b"First.", external_id="h1", title="Herons").json()

        second = give_file(api, b"Second.", external_id="h1", file_name="birds.md").json()

        assert (second["id"], second["verdict"]) == (first["id"], "revised")
        replaced = second["replaced"]
        assert (replaced["file_name"], replaced["title"]) == ("herons.md", "Herons")
        assert (replaced["sha256"], replaced["revision"]) == (first["sha256"], first["revision"])

    def test_lines_and_new_content_say_what_they_replace(self, api):
        [added] = give_lines(api, {"text": "First.", "external_id": "h1"})
        [revised] = give_lines(api, {"text": "Second.", "external_id": "h1"})
        put = api.put(one(added["id"], "content"), {"text": "Third."}, format="json").json()

        assert added["replaced"] is None
        assert revised["replaced"]["revision"] == added["revision"]
        assert put["replaced"]["revision"] == revised["revision"]


class TestReplace:
    def test_revises_the_only_document_of_the_file_name(self, api):
        first = give_file(api, b"First.", title="Herons").json()

        second = give_file(api, b"Second.", if_exists="replace").json()

        assert (second["id"], second["verdict"]) == (first["id"], "revised")
        assert give_file(api, b"Second.").json()["verdict"] == "unchanged"
        assert give_file(api, b"First.").json()["verdict"] == "added"

    def test_needs_only_one_document_of_the_file_name(self, api):
        for content in (b"First.", b"Second."):
            give_file(api, content)

        answer = give_file(api, b"Third.", if_exists="replace")

        assert (answer.status_code, answer.json()["code"]) == (409, "several_documents_exist")
        assert Artifact.objects.count() == 2

    def test_adds_what_is_new(self, api):
        assert give_file(api, if_exists="replace").json()["verdict"] == "added"

    def test_does_not_touch_a_document_that_the_caller_may_not_see(self, api, monkeypatch):
        hidden = give_file(api, b"First.", groups='["board"]').json()
        grant_by_header(monkeypatch, {"staff": Grant(groups=frozenset({"staff"}))})

        answer = give_file(client_of("staff"), b"Second.", if_exists="replace")

        assert answer.json()["verdict"] == "added"
        assert Artifact.objects.get(pk=hidden["id"]).sha256 == hidden["sha256"]


class TestRefuse:
    @pytest.mark.parametrize("form", [{}, {"external_id": "h1"}])
    def test_names_the_document_that_has_the_name(self, api, form):
        first = give_file(api, b"First.", **form).json()

        answer = give_file(api, b"Second.", **form, if_exists="refuse")

        assert (answer.status_code, answer.json()["code"]) == (409, "document_exists")
        assert answer.json()["detail"].startswith("A document named ")
        assert Artifact.objects.get().sha256 == first["sha256"]

    @pytest.mark.parametrize("form", [{}, {"external_id": "h1"}])
    def test_lets_the_same_content_through(self, api, form):
        give_file(api, **form)

        assert give_file(api, **form, if_exists="refuse").status_code == 200

    def test_knows_what_was_kept_beside_another(self, api):
        give_file(api, b"First.", external_id="herons.md")
        kept = give_file(api, b"Second.", if_exists="keep").json()

        again = give_file(api, b"Second.", external_id="herons.md", if_exists="refuse").json()

        assert (again["id"], again["verdict"]) == (kept["id"], "unchanged")

    def test_rejects_the_line_of_a_batch(self, api):
        give_text("First.", external_id="h1")
        line = {"text": "Second.", "external_id": "h1", "if_exists": "refuse"}

        [verdict] = give_lines(api, line)

        assert verdict["error"]["code"] == "document_exists"


class TestNames:
    def test_of_files_and_external_ids_are_compared_in_nfc(self, api):
        first = give_file(api, b"First.", external_id=DECOMPOSED).json()
        second = give(api, text="Second.", external_id=COMPOSED).json()
        found = api.get(ARTIFACTS, {"external_id": DECOMPOSED}).json()["results"]

        assert first["id"] == second["id"] == found[0]["id"]
        assert first["external_id"] == COMPOSED

    def test_of_files_without_an_external_id_too(self, api):
        first = give_file(api, b"First.", file_name=DECOMPOSED).json()
        second = give_file(api, b"Second.", file_name=COMPOSED, if_exists="replace").json()

        assert first["id"] == second["id"]


class TestWrongUse:
    @pytest.mark.parametrize(
        "body",
        [
            {"if_exists": "overwrite"},
            {"if_exists": "keep", "external_id": "h1"},
            {"if_exists": "replace"},
            {"if_exists": "refuse"},
        ],
    )
    def test_names_the_field_and_what_is_allowed(self, api, body):
        answer = give(api, **body)

        assert (answer.status_code, answer.json()["field"]) == (400, "if_exists")
        assert answer.json()["allowed"]
