"""The presets as users see them: files added to a running service, answers over HTTP."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.deck import ANSWER_SLIDE, QUERY, SLIDE_COUNT, save_deck
from tests.forked import serving_forked
from tests.serving import Service

READY_SECONDS = 240

HANDBOOK = {
    "Nordic curl": (
        "Starting position: kneel on a mat while a partner holds the ankles. Lower the trunk "
        "slowly and brake the fall with the hamstrings. The nordic curl is done twice a week."
    ),
    "Plantar fasciitis": (
        "Plantar fasciitis causes pain under the heel with the first steps of the day. Risk "
        "factors are standing work and tight calves. Symptoms ease within twelve weeks."
    ),
    "After ACL reconstruction": (
        "The protocol has three phases. In phase 1 the quads are woken by straight leg raises; "
        "in phase 3 the athlete jumps and lands. Return to sport takes nine months."
    ),
    "Shoulder rotation": (
        "To assess external rotation the patient lies supine with the elbow bent. The test is "
        "positive where pain comes before sixty degrees, as in frozen shoulder."
    ),
    "Rotator cuff": (
        "The supraspinatus has its origin above the spine of the scapula and its insertion on "
        "the greater tubercle. The rotator cuff keeps the head of the humerus centred."
    ),
    "Progressive overload": (
        "Training load rises by a tenth each week at most. Progressive overload needs rest days, "
        "for the glutes and the core as for any muscle."
    ),
    "Grip strength": (
        "Reference values for grip strength: men of forty hold 47 kilograms, women 30. Below the "
        "norms the forearms are weak."
    ),
}
CONTENT_TYPES = {
    "exercise_technique": "Nordic curl",
    "pathology": "Plantar fasciitis",
    "rehab_protocol": "After ACL reconstruction",
    "assessment": "Shoulder rotation",
    "anatomy": "Rotator cuff",
    "training_principles": "Progressive overload",
    "reference_data": "Grip strength",
}
MUSCLE_GROUPS = {
    "hamstrings": "Nordic curl",
    "calves": "Plantar fasciitis",
    "quads": "After ACL reconstruction",
    "rotator_cuff": "Rotator cuff",
    "glutes": "Progressive overload",
    "core": "Progressive overload",
    "forearms": "Grip strength",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("presets")
    # No language model, even if the environment configures one: rules write the texts.
    rules = dict.fromkeys(["STRATA_LLM_BASE_URL", "STRATA_LLM_MODEL", "STRATA_LLM_API_KEY"], "")
    with serving_forked(folder, **rules) as service:
        deck = save_deck(folder / "screening.pptx")
        with deck.open("rb") as file:
            given = service.api.post("indexes/biomedical/artifacts/", files={"file": file})
        given.raise_for_status()
        for title, text in HANDBOOK.items():
            document = {"title": title, "text": text}
            service.api.post("indexes/physio/artifacts/", json=document).raise_for_status()
        wait_until_ready(service, "physio")
        wait_until_ready(service, "biomedical")
        yield service


def wait_until_ready(service: Service, index: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        artifacts = service.api.get(f"indexes/{index}/artifacts/").json()["results"]
        if all(artifact["status"] == "ready" for artifact in artifacts):
            return
        assert not any(artifact["status"] == "failed" for artifact in artifacts), artifacts
        time.sleep(0.25)
    raise AssertionError(f"{artifacts}; the service said: {service.log.read_text()}")


def search(service: Service, kind: str, **parameters: Any) -> dict[str, Any]:
    answer = service.api.post(f"search/{kind}", json=parameters)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def call(service: Service, tool: str, **arguments: Any) -> httpx.Response:
    return service.api.post(f"indexes/physio/tools/{tool}/", json=arguments)


class TestBiomedical:
    def test_ranks_the_slide_with_the_exact_names_first(self, service, capsys):
        places = {}
        for mode in ("hybrid", "dense", "sparse"):
            parameters = {"index": "biomedical", "query": QUERY, "mode": mode, "limit": 100}
            hits = search(service, "pages", **parameters)["hits"]
            pages = [hit["page"]["index"] for hit in hits]
            places[mode] = pages.index(ANSWER_SLIDE) + 1 if ANSWER_SLIDE in pages else None

        with capsys.disabled():
            print(f"\n  {QUERY!r} among {SLIDE_COUNT} slides, place of the right one: {places}")
        assert places["hybrid"] == 1
        assert places["dense"] != 1

    def test_finds_the_slide_by_hierarchical_search(self, service):
        answer = search(service, "hierarchical", index="biomedical", query=QUERY)

        [artifact] = answer["artifacts"]
        assert artifact["summary_snippet"]
        assert artifact["pages"][0]["page_index"] == ANSWER_SLIDE
        assert artifact["pages"][0]["summary_snippet"]
        assert 1 <= len(artifact["pages"][0]["supporting_chunks"]) <= 3

    def test_finds_the_slide_by_its_summary(self, service):
        answer = search(service, "summaries", index="biomedical", query=QUERY, type="page_summary")

        assert answer["hits"][0]["page_index"] == ANSWER_SLIDE
        assert answer["hits"][0]["model_name"] == "extractive"

    def test_embeds_an_edited_summary(self, service):
        hits = search(service, "summaries", index="biomedical", query="NadE", limit=1)["hits"]
        page = f"pages/{hits[0]['entity_id']}/summary_candidate"
        text = "A zebra walks through the laboratory at midnight."

        written = service.api.patch(page, json={"text": text})

        assert written.status_code == 200, written.text
        wait_until_ready(service, "biomedical")
        found = search(service, "summaries", index="biomedical", query="zebra at midnight")
        assert found["hits"][0]["summary_text"] == text
        assert found["hits"][0]["model_name"] == "by hand"


class TestPhysio:
    def test_lists_its_tools_with_their_arguments(self, service):
        tools = {
            tool["name"]: tool["parameters"]
            for tool in service.api.get("indexes/physio/tools/").json()["results"]
        }

        assert set(tools) == {
            "search_knowledge_base", "search_by_muscle_group", "search_by_condition",
            "search_by_content_type", "search_by_exercise",
        }  # fmt: skip
        assert len(tools["search_by_muscle_group"]["properties"]["group"]["enum"]) == 17
        assert len(tools["search_by_content_type"]["properties"]["type"]["enum"]) == 7

    def test_answers_a_question_with_the_passage_once(self, service):
        answer = call(service, "search_knowledge_base", query="What eases heel pain?", limit=7)

        hits = answer.json()["hits"]
        assert hits[0]["artifact"]["title"] == "Plantar fasciitis"
        assert len({hit["chunk_id"] for hit in hits}) == len(hits) == 7

    @pytest.mark.parametrize(("group", "title"), MUSCLE_GROUPS.items())
    def test_finds_passages_by_muscle_group(self, service, group, title):
        hits = call(service, "search_by_muscle_group", group=group).json()["hits"]

        assert title in {hit["artifact"]["title"] for hit in hits}
        assert all(group in hit["metadata"]["muscle_groups"] for hit in hits)

    @pytest.mark.parametrize(("content_type", "title"), CONTENT_TYPES.items())
    def test_finds_passages_by_content_type(self, service, content_type, title):
        given = {"type": content_type, "query": title}

        hits = call(service, "search_by_content_type", **given).json()["hits"]

        assert hits[0]["artifact"]["title"] == title  # without a model, no passage has a type

    def test_finds_passages_by_condition_and_exercise(self, service):
        by_condition = call(service, "search_by_condition", condition="plantar fasciitis")
        by_exercise = call(service, "search_by_exercise", exercise="nordic curl")

        [condition] = by_condition.json()["hits"]
        [exercise] = by_exercise.json()["hits"]
        assert condition["artifact"]["title"] == "Plantar fasciitis"
        assert exercise["artifact"]["title"] == "Nordic curl"

    @pytest.mark.parametrize(
        ("tool", "given", "field"),
        [
            ("search_by_muscle_group", {"group": "elbow"}, "group"),
            ("search_by_content_type", {"type": "recipe", "query": "x"}, "type"),
            ("search_by_muscle_group", {"muscle": "neck"}, "muscle"),
            ("search_knowledge_base", {"query": "x", "limit": 0}, "limit"),
        ],
    )
    def test_refuses_wrong_arguments(self, service, tool, given, field):
        answer = call(service, tool, **given)

        assert answer.status_code == 400
        assert answer.json()["field"] == field

    def test_refuses_a_document_with_a_value_outside_a_closed_field(self, service):
        document = {"title": "x", "text": "y", "metadata": {"muscle_groups": ["elbow"]}}

        answer = service.api.post("indexes/physio/artifacts/", json=document)

        assert answer.status_code == 400
        assert answer.json()["field"] == "metadata.muscle_groups"
        assert "neck" in answer.json()["allowed"]

    def test_keeps_its_questions_under_their_own_name(self, service: Service):
        folders = {path.name for path in Path(service.data_dir, "vectors").iterdir()}

        assert "physio-knowledge-base-v2.1" in folders
