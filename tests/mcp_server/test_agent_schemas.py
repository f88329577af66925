"""The list of tools as the most restricted provider takes it."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from access.grants import EVERYTHING, Scope
from mcp_server.agent_schemas import make_example
from mcp_server.server import MAX_LISTED_CHARS
from mcp_server.tool_names import MAX_CHARS
from mcp_server.tools import INDEX_TOOL, TOOLS, list_tools
from tests.asking_mcp import answer_in_this_thread, ask_mcp, call_tool
from tests.clients import client_with_key
from tests.factories import give
from tests.serving import ROOT
from tests.written import make_build

KEYWORDS = {"type", "description", "enum", "items", "properties", "required"}
MANY_CHOICES = [f"value-{number}" for number in range(200)]
FIELDS: dict[str, Any] = {
    "sort": {"type": "keyword", "values": MANY_CHOICES, "closed": True},
    "year": {"type": "integer"},
    "day": {"type": "datetime"},
    "is_open": {"type": "bool"},
}
DECLARED = {
    "search_by_everything": {
        "description": "All at once.",
        "parameters": {name: {"field": name} for name in FIELDS}
        | {"date": {"field": "day", "description": "The day of the note."}},
        "query": "{sort} {year} {day} {is_open} {date}",
        "search": "pages",
    }
}


def walk(schema: Any):
    """Each schema in this one."""
    yield schema
    for each in schema.get("properties", {}).values():
        yield from walk(each)
    if "items" in schema:
        yield from walk(schema["items"])


@pytest.fixture
def client(db, monkeypatch):
    answer_in_this_thread(monkeypatch)
    return client_with_key(scope=Scope.MANAGE)


@pytest.fixture
def listed(db, store, embedder):
    make_build("physio-notes", metadata=FIELDS, tools=DECLARED)
    give("Nordic curls.", index="physio-notes")
    tools = [*list_tools(Scope.MANAGE, EVERYTHING), INDEX_TOOL]
    assert len(tools) == len(TOOLS) + 2
    return {tool.name: tool.make_listed_schema() for tool in tools}


class TestSubset:
    def test_has_one_type_and_no_other_keywords(self, listed):
        for name, schema in listed.items():
            for each in walk(schema):
                assert set(each) <= KEYWORDS, name
                assert isinstance(each["type"], str), name
                assert ("items" in each) == (each["type"] == "array"), name
                assert all(isinstance(value, str) and value for value in each.get("enum", ())), name
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_has_no_object_without_properties(self, listed):
        """Gemini refuses them, and the strict form of OpenAI allows nothing in them."""
        for name, schema in listed.items():
            for each in walk(schema):
                if each["type"] == "object":
                    assert each["properties"], name
                    assert each.get("required") != [], name
                    assert set(each.get("required", ())) <= set(each["properties"]), name

    def test_says_ranges_and_defaults_in_words(self, listed):
        assert listed["ask"]["properties"]["limit"] == {
            "type": "integer", "description": "At most. 1 to 100. Default 10.",
        }  # fmt: skip

    def test_keeps_what_a_spec_says_of_an_argument(self, listed):
        properties = listed["physio-notes__search_by_everything"]["properties"]

        assert properties["date"]["description"] == "The day of the note."

    def test_has_no_long_lists_of_choices(self, listed):
        sort = listed["physio-notes__search_by_everything"]["properties"]["sort"]

        assert "enum" not in sort
        assert '"value-0"' in sort["description"]
        assert sort["description"].endswith("list_values shows all.")

    def test_keeps_what_is_required(self, listed):
        for name, tool in TOOLS.items():
            assert set(listed[name].get("required", ())) == set(tool.make_schema()["required"])


class TestBound:
    """All tools are in every conversation. 3,500 tokens are about 14,000 characters."""

    def test_leaves_room_for_tools_of_specs(self, db, client):
        tools = ask_mcp(client, "tools/list")["tools"]

        assert {tool["name"] for tool in tools} == set(TOOLS)
        assert len(json.dumps(tools)) / 4 <= 3_000

    def test_holds_with_the_tools_of_the_preset_physio(self, db, store, embedder, client):
        spec = yaml.safe_load((ROOT / "specs" / "physio.yaml").read_text(encoding="utf-8"))
        make_build("physio", **spec)
        give("Nordic curls.", index="physio")
        tools = ask_mcp(client, "tools/list")["tools"]

        assert len([tool for tool in tools if tool["name"].startswith("physio__")]) == 5
        assert len(json.dumps(tools)) / 4 <= 3_500

    def test_holds_however_many_tools_are_declared(self, db, store, embedder, client):
        tool = {
            "description": "Finds. " * 20,
            "parameters": {"what": {"description": "A word."}},
            "query": "{what}",
            "search": "pages",
        }
        make_build("notes", tools={f"find_{number}": tool for number in range(40)})
        give("A heron stands.", index="notes")

        tools = ask_mcp(client, "tools/list")["tools"]

        assert len(json.dumps(tools)) <= MAX_LISTED_CHARS
        assert tools[-1]["name"] == INDEX_TOOL.name
        named = call_tool(client, INDEX_TOOL.name, index="notes")["content"][0]["text"]
        assert "find_39" in named
        call = {"index": "notes", "tool": "find_39", "arguments": '{"what": "heron", "limit": "2"}'}
        assert not call_tool(client, INDEX_TOOL.name, **call)["isError"]

    def test_names_have_at_most_50_characters(self, listed):
        assert all(len(name) <= MAX_CHARS for name in listed)


class TestExamples:
    @pytest.mark.parametrize("name", TOOLS)
    def test_exist_for_each_argument(self, name):
        schema = TOOLS[name].make_schema()
        for argument in schema["properties"]:
            example = json.loads(make_example(schema, argument, ()) or "")
            assert list(example) == [argument]

    def test_are_of_the_allowed_values(self):
        schema = TOOLS["search"].make_schema()

        assert make_example(schema, "mode", ["dense", "sparse"]) == '{"mode": "dense"}'
        assert make_example(schema, "nothing", ()) is None
