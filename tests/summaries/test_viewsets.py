"""Editing summaries over the API."""

import pytest

from access.grants import Scope
from documents.models import Artifact
from indexing.models import Node
from summaries.models import Annotation
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.summaries.conftest import write_all

pytestmark = pytest.mark.django_db

QUESTION = "Which stone is the oldest?"


@pytest.fixture
def path(wide) -> str:
    artifact = give(index="wide")
    write_all(wide, artifact)
    return f"/api/v1/artifacts/{artifact.pk}/summary_candidate"


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
