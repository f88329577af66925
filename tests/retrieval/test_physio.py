"""The example queries of the preset ``physio``: each finds the text that it is meant to find, with
and without a language model. Texts are embedded by hashing, so they are found by their words."""

import json
from typing import Any

import pytest
from django.urls import reverse
from pydantic import BaseModel
from rest_framework.test import APIClient

from access.models import ApiKey
from benchmarks.physio.write import QUESTIONS, TEXTS
from documents.models import Artifact
from indexing.models import IndexBuild
from summaries import llm
from tests.factories import give
from tests.summaries.conftest import write_all

FIELDS: dict[str, dict[str, Any]] = {  # what a language model says of a text
    "impingement": {"conditions": ["shoulder impingement"], "muscle_groups": ["rotator_cuff"]},
    "elbow": {"conditions": ["tennis elbow"], "muscle_groups": ["forearms"]},
    "nordic": {"exercises": ["nordic curl"], "muscle_groups": ["hamstrings"]},
    "bench": {"exercises": ["bench press"], "muscle_groups": ["chest"]},
    "facepull": {"exercises": ["face pull"], "muscle_groups": ["upper_back"]},
    "back": {"muscle_groups": ["core", "lower_back"], "content_type": "exercise_technique"},
}
EXAMPLES = [  # docs/how-to/search-by-questions.md, docs/reference/api.md
    ("search_by_condition", {"condition": "impingement"}, "impingement"),
    ("search_by_condition", {"condition": "lateral epicondylitis"}, "elbow"),
    ("search_by_exercise", {"exercise": "nordic hamstring curl"}, "nordic"),
    ("search_by_exercise", {"exercise": "nordic curl", "limit": 5}, "nordic"),
    ("search_by_exercise", {"exercise": "bench press"}, "bench"),
    ("search_by_exercise", {"exercise": "face pull"}, "facepull"),
    ("search_by_muscle_group", {"group": "lower_back"}, "back"),
    ("search_knowledge_base", {"query": "lifting the arm sideways hurts"}, "impingement"),
]


class FakeModel:
    """Asks the labelled questions about each text, and knows what it speaks of."""

    name = "fake"

    def complete(
        self, system: str, user: str, schema: type[BaseModel], **options: Any
    ) -> llm.Completion:
        [id] = [id for id, (_, text) in TEXTS.items() if text[:40] in user] or ["?"]
        questions = [question for question, about in QUESTIONS.items() if about == id]
        said: dict[str, Any] = {"questions": questions or ["What is it?"], "summary": "In short."}
        return llm.Completion(schema.model_validate(said | FIELDS.get(id, {})), self.name, 1, 1, 1)


@pytest.fixture(params=["default", "model"])
def physio(request, build, monkeypatch) -> IndexBuild:
    """The preset's live build with the sample texts that the examples ask for."""
    if request.param == "model":
        monkeypatch.setattr(llm, "is_configured", lambda: True)
        monkeypatch.setattr(llm, "get_language_model", lambda name="": FakeModel())
    physio = IndexBuild.objects.live().get(index="physio")
    titles = {id: TEXTS[id] for id in (*FIELDS, "heel", "frozen")}
    write_all(
        physio,
        *(
            give(text, index="physio", title=title, external_id=id)
            for id, (title, text) in titles.items()
        ),
    )
    physio.has_model = request.param == "model"
    return physio


@pytest.fixture
def client(db) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('tests')[1]}")
    return client


def test_every_example_finds_the_text_that_it_is_meant_to_find(physio, client):
    for tool, arguments, id in EXAMPLES:
        answer = client.post(
            reverse("tool", args=["physio", tool]), arguments, format="json"
        ).json()

        assert answer["hits"], (tool, arguments)
        assert answer["hits"][0]["artifact"]["external_id"] == id, (tool, arguments, answer)
        assert (answer["filter_applied"] is None) == (tool == "search_knowledge_base")


def test_a_hit_says_whether_a_question_found_it(physio, client):
    given = {"index": "physio", "query": "lifting the arm sideways hurts", "limit": 1}

    answer = client.post("/api/v1/search/questions", given, format="json").json()

    [hit] = answer["hits"]
    assert hit["kind"] == "question"
    assert hit["text"] in TEXTS["impingement"][1]
    if physio.has_model:
        assert QUESTIONS[hit["question"]] == "impingement"
        assert answer["notes"] == []
    else:
        assert hit["question"] is None
        assert "STRATA_LLM_MODEL" in answer["notes"][0]


def test_questions_can_be_filtered_by_what_is_stored_with_them(physio, client):
    artifact = Artifact.objects.get(external_id="bench")
    url, asked = "/api/v1/search/questions", {"index": "physio", "query": "grip", "limit": 50}
    every = client.post(url, asked, format="json").json()["hits"]
    hit = next(each for each in every if each["artifact"]["id"] == str(artifact.pk))

    for name in ("source", "chunk_id", "summary", "model_name"):
        value = "fake" if physio.has_model else "extractive"
        value = hit.get(name, value)
        found = client.get(url, asked | {"filter": json.dumps({name: value})}).json()["hits"]

        assert hit["chunk_id"] in {each["chunk_id"] for each in found}, name
        if name in {"source", "chunk_id"}:
            assert {each[name] for each in found} == {value}
    refused = client.get(url, asked | {"filter": '{"chunk_id": "heel"}'})
    assert (refused.status_code, refused.json()["field"]) == (400, "filter.chunk_id")
