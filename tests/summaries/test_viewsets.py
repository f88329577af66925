"""Editing summaries over the API."""

import pytest

from tests.clients import client_with_key
from tests.factories import give
from tests.summaries.conftest import write_all

pytestmark = pytest.mark.django_db


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
