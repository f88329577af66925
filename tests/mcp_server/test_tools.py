"""The table of tools, and the schemas of their arguments."""

import jsonschema  # type: ignore[import-untyped]
import pytest

from access.grants import EVERYTHING, Grant, Scope
from mcp_server.operations import ALIAS, get_operation
from mcp_server.tools import TOOLS, find_tool, list_tools, make_search_schema
from retrieval.all_searches import SEARCHES
from tests.factories import give
from tests.retrieval.test_tools import FIELDS
from tests.retrieval.test_tools import TOOLS as DECLARED
from tests.written import make_build


@pytest.fixture
def declaring(db, store, embedder):
    build = make_build("physio-notes", metadata=FIELDS, tools=DECLARED)
    give("Nordic curls.", index="physio-notes")
    return build


class TestSchemas:
    @pytest.mark.parametrize("name", TOOLS)
    def test_are_json_schemas_of_objects_without_references(self, name):
        schema = TOOLS[name].make_schema()

        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in str(schema)
        assert "nullable" not in str(schema)

    @pytest.mark.parametrize("name", TOOLS)
    def test_require_only_described_properties(self, name):
        schema = TOOLS[name].make_schema()

        assert set(schema["required"]) <= set(schema["properties"])

    def test_of_search_have_every_parameter_of_every_search(self):
        properties = make_search_schema()["properties"]

        for kind, search in SEARCHES.items():
            for name, field in search.parameters().fields.items():
                if name == "structure" or ALIAS.fullmatch(str(field.help_text or "")):
                    assert name not in properties
                else:
                    assert name in properties, (kind, name)
        assert properties["kind"]["enum"] == list(SEARCHES)

    def test_of_search_name_the_kinds_that_accept_a_parameter(self):
        properties = make_search_schema()["properties"]

        assert properties["window"]["description"].endswith("For kinds: sources, route.")
        assert "For kinds" not in properties["index"]["description"]

    def test_of_search_state_a_default_only_if_all_kinds_have_it(self):
        limit = make_search_schema()["properties"]["limit"]

        assert "default" not in limit  # 50 for subgraphs
        assert (limit["type"], limit["minimum"]) == ("integer", 1)

    def test_leave_out_aliases_of_parameters(self):
        schema = TOOLS["search_concepts"].make_schema()

        assert not {"q", "collection"} & set(schema["properties"])
        assert set(schema["required"]) == {"query"}

    def test_show_choices_and_nullable_types(self):
        mode = make_search_schema()["properties"]["mode"]
        title = TOOLS["add_document"].make_schema()["properties"]["title"]

        assert mode["enum"] == ["hybrid", "dense", "sparse"]
        assert "* `" not in str(mode)
        assert title["type"] == ["string", "null"]

    def test_of_declared_tools_match_those_of_rest(self, declaring):
        tools = {tool.name: tool for tool in list_tools(Scope.SEARCH, EVERYTHING)}

        schema = tools["physio-notes__search_by_condition"].make_schema()

        assert schema["required"] == ["condition"]
        assert set(schema["properties"]) == {"condition", "limit"}


class TestListTools:
    def test_lists_the_tools_of_the_scope(self, db):
        names = {scope: {tool.name for tool in list_tools(scope, EVERYTHING)} for scope in Scope}

        assert "add_document" not in names[Scope.SEARCH]
        assert "search" in names[Scope.SEARCH]
        assert names[Scope.WRITE] == names[Scope.MANAGE] == set(TOOLS)

    def test_names_declared_tools_after_their_index(self, declaring):
        declared = [
            tool.name for tool in list_tools(Scope.SEARCH, EVERYTHING) if tool.name not in TOOLS
        ]

        assert declared == sorted(f"physio-notes__{name}" for name in DECLARED)
        assert all(find_tool(name, EVERYTHING).name == name for name in declared)

    def test_leaves_out_the_tools_of_indexes_that_are_not_visible(self, declaring):
        listed = list_tools(Scope.SEARCH, Grant(indexes=frozenset({"other"})))

        assert not [tool.name for tool in listed if "__" in tool.name]

    def test_lists_searches_of_public_indexes_without_a_key(self, declaring):
        listed = {
            tool.name for tool in list_tools(None, Grant(indexes=frozenset({"physio-notes"})))
        }

        assert listed - {f"physio-notes__{name}" for name in DECLARED} == {
            "search", "search_concepts", "list_values",
        }  # fmt: skip


class TestOperations:
    @pytest.mark.parametrize("name", TOOLS)
    def test_of_every_tool_exist(self, name):
        assert TOOLS[name].operations
        for operation_id in TOOLS[name].operations:
            assert get_operation(operation_id).path.startswith("/api/v1/")
