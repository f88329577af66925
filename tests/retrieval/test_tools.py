"""The documents of ``notes`` are indexed once for all tests."""

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from access.grants import EVERYTHING
from access.models import ApiKey
from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Source
from indexing.embedding.vectors import cosine
from indexing.models import Index
from indexing.services import store_search_settings
from indexing.spec import IndexSpec
from retrieval.exceptions import UnavailableTool, UnknownTool
from retrieval.tools import list_tools, prepare_tool_call
from tests.factories import change_search, give, load_index, sync
from tests.written import make_build, write_all

FIELDS = {
    "muscle_groups": {
        "type": "keyword",
        "many": True,
        "lowercase": True,
        "values": {"lower_back": {}, "neck": {"synonyms": ["cervical", "nape"]}},
        "description": "Muscles it is about.",
    },
    "conditions": {
        "type": "keyword",
        "many": True,
        "lowercase": True,
        "closed": False,
        "values": {"low back pain": {"synonyms": ["Lumbago", "back ache"]}},
    },
    "year": {"type": "integer"},
    "reviewed": {"type": "bool"},
}
TOOLS = {
    "search_knowledge_base": {
        "description": "Search everything.",
        "parameters": {"query": {"description": "A question."}},
        "query": "{query}",
    },
    "search_by_muscle_group": {
        "description": "Find what is about a group of muscles.",
        "parameters": {"group": {"field": "muscle_groups"}},
        "query": "{group} physical therapy",
    },
    "search_by_condition": {
        "description": "Find what helps.",
        "parameters": {"condition": {"field": "conditions", "description": "What hurts."}},
        "query": "{condition} rehabilitation",
        "search": "pages",
    },
    "search_by_review": {
        "description": "Find by year.",
        "parameters": {"since": {"field": "year"}, "reviewed": {"field": "reviewed"}, "q": {}},
        "query": "{q} {since} {reviewed}",
    },
}


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def physio(shared_store):
    return make_build("physio", questions={"count": 3}, metadata=FIELDS, tools=TOOLS)


@pytest.fixture(scope="module")
def notes(physio):
    """One artifact on the lower back, one on the neck."""
    back = give(
        "The lower back likes to be moved.", index="physio", title="Back",
        metadata={"muscle_groups": ["lower_back"], "conditions": ["lumbago"]},
    )  # fmt: skip
    neck = give(
        "The neck and the lower back are one spine.", index="physio", title="Neck",
        metadata={"muscle_groups": ["neck"], "conditions": ["whiplash"]},
    )  # fmt: skip
    write_all(physio, back, neck)
    return back, neck


class TestListTools:
    def test_describes_declared_tools(self, physio):
        tools = {tool.name: tool for tool in list_tools("physio", EVERYTHING)}

        assert list(tools) == sorted(TOOLS)
        assert tools["search_by_muscle_group"].description.startswith("Find what is about")
        assert tools["search_by_muscle_group"].parameters == {
            "type": "object",
            "properties": {
                "group": {
                    "type": "string",
                    "enum": ["lower_back", "neck"],
                    "description": "Muscles it is about.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "default": 10,
                    "description": "How many hits to give at most.",
                },
            },
            "required": ["group"],
            "additionalProperties": False,
        }

    def test_gives_open_fields_their_declared_type(self, physio):
        tools = {
            tool.name: tool.parameters["properties"] for tool in list_tools("physio", EVERYTHING)
        }

        assert tools["search_by_condition"]["condition"] == {
            "type": "string", "minLength": 1, "maxLength": 2_000, "description": "What hurts.",
        }  # fmt: skip
        assert tools["search_by_review"]["since"] == {"type": "integer"}
        assert tools["search_by_review"]["reviewed"] == {"type": "boolean"}

    def test_returns_valid_json_schemas(self, physio):
        for tool in list_tools("physio", EVERYTHING):
            jsonschema.Draft202012Validator.check_schema(tool.parameters)

    def test_returns_no_tools_without_a_declaration_or_a_live_build(self, physio):
        load_index("plain")
        assert list_tools("plain", EVERYTHING) == []
        Index.objects.filter(name="physio").update(live_build=None)
        assert list_tools("physio", EVERYTHING) == []

    def test_names_the_existing_indexes(self, physio):
        with pytest.raises(UnknownIndex) as refused:
            list_tools("psychio", EVERYTHING)

        assert refused.value.allowed == ["physio"]


class TestPrepareToolCall:
    def ask(self, name, **arguments):
        return prepare_tool_call("physio", name, arguments, EVERYTHING)

    def test_puts_its_arguments_into_the_query(self, physio):
        assert self.ask("search_knowledge_base", query="a_b?").query == "a_b?"
        assert self.ask("search_by_condition", condition="Whip_lash").query == (
            "whip_lash rehabilitation"
        )

    def test_queries_closed_values_as_words_and_filters_by_their_names(self, physio):
        call = self.ask("search_by_muscle_group", group="lower_back")

        assert call.query == "lower back physical therapy"
        assert call.filter == {"all_of": [{"muscle_groups": "lower_back"}]}

    def test_filters_by_every_field_it_names(self, physio):
        call = self.ask("search_by_review", since=2019, reviewed=True, q="tendon")

        assert call.query == "tendon 2019 true"
        assert call.filter == {"all_of": [{"year": 2019}, {"reviewed": True}]}

    @pytest.mark.parametrize(
        ("group", "meant"),
        [("Cervical", "neck"), ("NECK", "neck"), ("Lower back", "lower_back")],
    )
    def test_accepts_a_closed_value_however_it_is_written(self, physio, group, meant):
        call = self.ask("search_by_muscle_group", group=group)

        assert call.query == f"{meant.replace('_', ' ')} physical therapy"
        assert call.filter == {"all_of": [{"muscle_groups": meant}]}

    @pytest.mark.parametrize("query", ["{query}", "{0}", "{", "}}", "{query.__class__}", "%s"])
    def test_treats_braces_as_text(self, physio, query):
        assert self.ask("search_knowledge_base", query=query).query == query
        assert self.ask("search_by_condition", condition=query).query == (f"{query} rehabilitation")

    @pytest.mark.parametrize(
        ("name", "is_question_search"),
        [("search_knowledge_base", True), ("search_by_condition", False)],
    )
    def test_searches_questions_by_default(self, physio, name, is_question_search):
        [parameter] = TOOLS[name]["parameters"]

        assert self.ask(name, **{parameter: "x"}).is_question_search == is_question_search

    def test_searches_chunks_if_there_are_no_questions(self, shared_store):
        make_build("plainer", tools={"find": TOOLS["search_knowledge_base"]})

        assert not prepare_tool_call(
            "plainer", "find", {"query": "x"}, EVERYTHING
        ).is_question_search

    def test_refuses_a_tool_that_the_live_build_does_not_support(self, shared_store):
        live = make_build("new")
        tools = {
            "ask": TOOLS["search_knowledge_base"] | {"search": "questions"},
            "search": TOOLS["search_knowledge_base"],
        }
        spec = IndexSpec.model_validate({"name": "new", "questions": True, "tools": tools})
        store_search_settings(live.index, spec)

        listed = [tool.name for tool in list_tools("new", EVERYTHING)]
        with pytest.raises(UnavailableTool, match="holds no questions"):
            prepare_tool_call("new", "ask", {"query": "neck pain"}, EVERYTHING)

        assert listed == ["search"]

    def test_names_the_existing_tools(self, physio):
        with pytest.raises(UnknownTool) as refused:
            self.ask("search_by_bone", bone="ulna")

        assert refused.value.allowed == sorted(TOOLS)

    @pytest.mark.parametrize(
        ("name", "arguments", "field", "allowed"),
        [
            ("search_by_muscle_group", {"group": "ears"}, "group", ["lower_back", "neck"]),
            ("search_by_muscle_group", {"grup": "neck"}, "grup", ["group", "limit"]),
            ("search_by_muscle_group", {}, "group", ["group", "limit"]),
            ("search_by_muscle_group", {"group": ["neck"]}, "group", None),
            ("search_by_muscle_group", {"group": {"not": "neck"}}, "group", None),
            ("search_by_muscle_group", {"group": None}, "group", None),
            ("search_by_muscle_group", {"group": "neck", "limit": 0}, "limit", None),
            ("search_by_muscle_group", {"group": "neck", "limit": 101}, "limit", None),
            ("search_by_muscle_group", {"group": "neck", "limit": True}, "limit", None),
            ("search_by_muscle_group", {"group": "neck", "limit": "5"}, "limit", None),
            ("search_knowledge_base", {"query": " "}, "query", None),
            ("search_knowledge_base", {"query": 7}, "query", None),
            ("search_knowledge_base", {"query": "x" * 2_001}, "query", None),
            ("search_knowledge_base", {"query": "half \ud800"}, "query", None),
            ("search_by_review", {"since": "2019", "reviewed": True, "q": "x"}, "since", None),
            ("search_by_review", {"since": 2019, "reviewed": 1, "q": "x"}, "reviewed", None),
        ],
    )
    def test_refuses_arguments_that_its_schema_refuses(
        self, physio, name, arguments, field, allowed
    ):
        with pytest.raises(InvalidInput) as refused:
            prepare_tool_call("physio", name, arguments, EVERYTHING)

        assert refused.value.field == field
        assert refused.value.allowed == allowed

    @pytest.mark.parametrize("arguments", [[], "neck", None, 7])
    def test_refuses_arguments_that_are_not_an_object(self, physio, arguments):
        with pytest.raises(InvalidInput):
            prepare_tool_call("physio", "search_by_muscle_group", arguments, EVERYTHING)


class TestSearch:
    @pytest.mark.parametrize(
        ("condition", "step", "title"),
        [
            ("Lumbago", "exact", "Back"),
            ("low back pain", "exact", "Back"),
            ("back ache", "exact", "Back"),
            ("one spine", "boost", "Neck"),  # no field has it, and the text says it
        ],
    )
    def test_relaxes_a_filter_that_matches_nothing(self, notes, condition, step, title):
        call = prepare_tool_call(
            "physio", "search_by_condition", {"condition": condition}, EVERYTHING
        )

        answer, applied = call.search()

        assert applied == step
        assert answer.hits[0].payload["artifact_title"] == title

    def test_finds_a_value_however_documents_and_caller_write_it(self, shared_store):
        build = make_build("clinic", metadata=FIELDS, tools=TOOLS)
        for title, condition in (("A", "lumbago"), ("B", "low back pain"), ("C", "back ache")):
            given = {"title": title, "metadata": {"conditions": [condition]}}
            sync(build, give(f"It hurts in the back, {title}.", index="clinic", **given))
        call = prepare_tool_call(
            "clinic", "search_by_condition", {"condition": "Lumbago"}, EVERYTHING
        )

        answer, applied = call.search()

        assert applied == "exact"
        assert {hit.payload["artifact_title"] for hit in answer.hits} == {"A", "B", "C"}

    def test_reports_no_filter_without_a_filter(self, notes):
        call = prepare_tool_call("physio", "search_knowledge_base", {"query": "spine"}, EVERYTHING)

        assert call.search()[1] is None

    @pytest.mark.parametrize("fusion", ["ranks", "scores"])
    def test_ranks_passages_with_the_value_first_within_the_limit(self, physio, notes, fusion):
        change_search(physio, fusion=fusion)
        arguments = {"condition": "one spine", "limit": 1}

        call = prepare_tool_call("physio", "search_by_condition", arguments, EVERYTHING)
        [hit] = call.search()[0].hits

        assert hit.payload["artifact_title"] == "Neck"
        assert hit.score > 1 / 61  # what the boost adds

    def test_returns_the_cosine_of_the_matched_question(self, notes, embedder):
        call = prepare_tool_call("physio", "search_knowledge_base", {"query": "spine"}, EVERYTHING)

        for hit in call.search()[0].hits:
            question = embedder.embed_query(hit.payload["question"])
            expected = cosine(embedder.embed_query("spine"), question)
            assert hit.similarity == pytest.approx(expected, abs=1e-3)


class TestToolViews:
    @pytest.fixture
    def client(self, db):
        _, secret = ApiKey.issue("tests")
        client = APIClient(enforce_csrf_checks=True)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return client

    def call(self, client, name, /, **arguments):
        return client.post(reverse("tool", args=["physio", name]), arguments, format="json")

    def test_lists_the_tools(self, client, physio):
        answer = client.get(reverse("tool-list", args=["physio"])).json()

        assert [each["name"] for each in answer["results"]] == sorted(TOOLS)
        assert answer["count"] == 4
        assert answer["next"] is answer["previous"] is None
        assert answer["results"][0].keys() == {"name", "description", "parameters"}

    def test_returns_questions(self, client, notes):
        answer = self.call(client, "search_by_muscle_group", group="lower_back").json()

        assert [hit["artifact"]["title"] for hit in answer["hits"]] == ["Back"]
        assert answer["hits"][0]["kind"] == "question"
        for fields in (answer["hits"][0], answer["hits"][0]["metadata"]):
            assert fields["muscle_groups"] == ["lower_back"]
            assert fields["conditions"] == ["low back pain"]
            assert fields["year"] is None
        assert answer["filter_applied"] == "exact"
        assert answer["notes"] == []
        assert -1 <= answer["hits"][0]["similarity"] <= 1

    def test_returns_passages(self, client, notes):
        answer = self.call(client, "search_by_condition", condition="Whiplash", limit=1).json()

        assert [hit["artifact"]["title"] for hit in answer["hits"]] == ["Neck"]
        assert answer["hits"][0]["kind"] == "chunk"

    def test_answers_404_for_an_unknown_tool(self, client, physio):
        answer = self.call(client, "search_by_bone")

        assert answer.status_code == 404
        assert answer.json()["code"] == "unknown_tool"
        assert answer.json()["allowed"] == sorted(TOOLS)

    def test_names_the_wrong_argument_and_what_is_allowed(self, client, physio):
        answer = self.call(client, "search_by_muscle_group", group="ears")

        assert answer.status_code == 400
        assert answer.json()["field"] == "group"
        assert answer.json()["allowed"] == ["lower_back", "neck"]

    @pytest.mark.parametrize("body", [["neck"], "neck", None])
    def test_refuses_a_body_that_is_not_an_object(self, client, physio, body):
        url = reverse("tool", args=["physio", "search_by_muscle_group"])

        assert client.post(url, body, format="json").status_code == 400

    def test_answers_404_for_an_unknown_index(self, client, physio):
        assert client.get(reverse("tool-list", args=["psychio"])).status_code == 404
        answer = client.post(reverse("tool", args=["psychio", "x"]), {}, format="json")
        assert answer.json()["code"] == "unknown_index"

    def test_requires_a_key(self, physio):
        assert APIClient().get(reverse("tool-list", args=["physio"])).status_code == 401

    def test_enqueues_stale_artifacts_for_planning(self, client, notes, planned):
        Source.objects.update(text="Something else.")

        self.call(client, "search_by_muscle_group", group="neck")

        assert planned == [notes[1].pk]

    def test_searches_chunks_if_there_are_no_questions(self, client, shared_store):
        bare = make_build("bare", tools={"find": TOOLS["search_knowledge_base"]})
        sync(bare, give("Tendons tear.", index="bare"))

        answer = client.post("/api/v1/indexes/bare/tools/find", {"query": "tendons"}, format="json")

        assert [hit["text"] for hit in answer.json()["hits"]] == ["Tendons tear."]
