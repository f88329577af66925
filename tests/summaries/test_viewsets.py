"""Editing summaries over the API."""

import pytest

from access.grants import Scope
from core.text import hash_text
from documents.models import Artifact, Page
from documents.services import TextContent, replace_content
from indexing.models import IndexBuild, Node
from indexing.regeneration import regenerate
from summaries.models import Annotation, Summary
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.summaries.conftest import write_all

pytestmark = pytest.mark.django_db

QUESTION = "Which stone is the oldest?"


def path_of(entity: Artifact | Page) -> str:
    """The path of the summary of a document or a page."""
    return f"/api/v1/{type(entity).__name__.lower()}s/{entity.pk}/summary_candidate"


@pytest.fixture
def path(wide) -> str:
    artifact = give(index="wide")
    write_all(wide, artifact)
    return path_of(artifact)


@pytest.mark.parametrize(
    ("given", "name"), [({}, "by hand"), ({"model_name": "a-model"}, "a-model")]
)
def test_a_written_summary_names_what_wrote_it(path, given, name):
    edited = client_with_key().patch(path, {"text": "Stones.", **given}, format="json")

    assert (edited.status_code, edited.json()["model_name"]) == (200, name)
    assert edited.json()["is_by_hand"] is True


@pytest.mark.parametrize(
    "given",
    [
        {"text": "Stones.", "model_name": "extractive"},
        {"text": "Stones.", "model_name": "m" * 201},
        {"text": "Stones.", "model_name": " "},
        {"text": None, "model_name": "a-model"},
    ],
)
def test_other_names_are_refused(path, given):
    refused = client_with_key().patch(path, given, format="json")

    assert (refused.status_code, refused.json()["field"]) == (400, "model_name")


class TestQuestions:
    @pytest.fixture
    def annotation(self, wide) -> Annotation:
        write_all(wide, give(index="wide"))
        return Annotation.objects.all()[0]

    def test_by_hand_are_searched_from_the_revision_on(self, wide, annotation):
        path = f"/api/v1/chunks/{annotation.chunk_id}/questions"
        before = annotation.artifact.revision
        edited = client_with_key().patch(path, {"questions": [QUESTION, QUESTION]}, format="json")

        assert edited.status_code == 200, edited.content
        assert edited.json()["questions"] == [QUESTION]
        assert edited.json()["is_by_hand"] is True
        assert edited.json()["revision"] > before
        sync(wide, annotation.artifact)
        texts = Node.objects.filter(build=wide, kind="question").values_list("text", flat=True)
        assert QUESTION in texts

    @pytest.mark.parametrize("given", [["q" * 501], ["?"] * 21, [" "], [3], "?", None])
    def test_that_are_not_allowed_are_refused(self, annotation, given):
        path = f"/api/v1/chunks/{annotation.chunk_id}/questions"
        refused = client_with_key().patch(path, {"questions": given}, format="json")

        assert refused.status_code == 400
        assert refused.json()["field"].startswith("questions")

    def test_of_hidden_documents_are_not_found(self, annotation):
        Artifact.objects.update(groups=["legal"])
        client = client_with_key(scope=Scope.WRITE, groups=["harbour"])
        path = f"/api/v1/chunks/{annotation.chunk_id}/questions"

        assert client.get(path).status_code == 404
        assert client.patch(path, {"questions": [QUESTION]}, format="json").status_code == 404


class TestDeletion:
    @pytest.fixture
    def artifact(self, wide) -> Artifact:
        artifact = give(index="wide")
        write_all(wide, artifact)
        return artifact

    @pytest.fixture
    def page_path(self, artifact) -> str:
        return path_of(artifact.pages.get())

    @pytest.mark.parametrize("kind", ["page_summary", "artifact_summary"])
    def test_removes_the_summary_with_its_point(self, wide, artifact, store, kind):
        entity = artifact.pages.get() if kind == "page_summary" else artifact
        path, point_id = path_of(entity), entity.pk
        deleted = client_with_key().delete(path)

        assert deleted.status_code == 200, deleted.content
        answer = deleted.json()
        assert (answer["id"], answer["deleted"]) == (str(point_id), True)
        assert answer["revision"] > artifact.revision
        write_all(wide, artifact)
        assert not Node.objects.filter(build=wide, kind=kind).exists()
        assert not store.retrieve(wide.collection(kind), [point_id])
        gone = client_with_key().get(path)
        assert (gone.status_code, gone.json()["code"]) == (404, "summary_deleted")
        assert client_with_key().delete(path).status_code == 404

    def test_is_not_undone_by_writing_again(self, wide, artifact, page_path):
        client_with_key().delete(page_path)

        regenerate(["summary"], index="wide")
        write_all(wide, artifact)

        assert client_with_key().get(page_path).status_code == 404

    def test_is_kept_by_a_new_build(self, wide, artifact, page_path):
        client_with_key().delete(page_path)
        Page.objects.update(text="Owls hunt.", content_hash=hash_text("Owls hunt."))
        other = IndexBuild.objects.create(
            index=wide.index, number=2, recipe=wide.recipe, fingerprint=wide.fingerprint
        )

        write_all(other, artifact)

        kinds = Node.objects.filter(build=other).values_list("kind", flat=True)
        assert "page_summary" not in kinds
        assert "chunk" in kinds
        deleted = Summary.objects.of_pages().get(build=other)
        assert deleted.written_input_hash == hash_text("Owls hunt.")

    def test_lasts_with_other_content_and_makes_nothing_stale(self, wide, artifact, page_path):
        client_with_key().delete(page_path)

        replace_content(artifact.pk, TextContent(("Owls hunt at night.",)))
        write_all(wide, artifact)

        assert client_with_key().get(page_path).status_code == 404
        deleted = Summary.objects.of_pages().get()
        assert deleted.input_hash == hash_text("Owls hunt at night.")
        assert deleted.written_input_hash == deleted.input_hash

    def test_has_the_summary_of_the_document_written_again(self, wide, page_path):
        client_with_key().delete(page_path)

        assert Summary.objects.of_artifacts().get().state == "due"

    @pytest.mark.parametrize("text", ["Stones.", None])
    def test_ends_with_a_new_text(self, wide, artifact, page_path, text):
        client = client_with_key()
        client.delete(page_path)

        assert client.patch(page_path, {"text": text}, format="json").status_code == 200

        write_all(wide, artifact)
        assert client.get(page_path).json()["text"]
        assert Node.objects.filter(build=wide, kind="page_summary").exists()

    def test_of_a_summary_that_is_not_there_is_not_found(self, build):
        plain = give()

        refused = client_with_key().delete(path_of(plain))

        assert refused.status_code == 404

    @pytest.mark.parametrize(
        ("granted", "status"),
        [({"scope": Scope.SEARCH}, 403), ({"scope": Scope.WRITE, "groups": ["harbour"]}, 404)],
    )
    def test_needs_the_right_to_write_the_document(self, artifact, page_path, granted, status):
        Artifact.objects.update(groups=["legal"])

        assert client_with_key(**granted).delete(page_path).status_code == status
        assert Summary.objects.get(page__isnull=False).text
