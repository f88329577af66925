"""Calls as agents of five makers write them, and what a document's tools answer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from access.grants import Grant, Scope
from documents.models import Artifact, Source
from mcp_server.bounds import MAX_TOKENS, estimate_tokens
from mcp_server.tools import list_tools
from tests.asking_mcp import answer_in_this_thread, ask_mcp, call_tool, read_structured
from tests.clients import client_with_key
from tests.factories import give
from tests.written import make_build, write_all

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
CALLS = [
    pytest.param(call, id=f"{path.stem}-{number}")
    for path in RECORDED
    for number, call in enumerate(json.loads(path.read_text(encoding="utf-8")), 1)
]
NOTE = "The last ferry to Ven leaves at 21:40."
FIELDS: dict[str, Any] = {"year": {"type": "integer"}}


@pytest.fixture
def client(db, monkeypatch):
    answer_in_this_thread(monkeypatch)
    return client_with_key(scope=Scope.WRITE)


@pytest.fixture
def document(db, store, embedder) -> Artifact:
    build = make_build("notes", metadata=FIELDS)
    document = give(NOTE, index="notes", title="Ferries", metadata={"year": 2026})
    write_all(build, document, fields={"year": 2026})
    return document


class TestCalls:
    @pytest.mark.parametrize("call", CALLS)
    def test_are_understood(self, client, document, call):
        ids = {
            "{document}": str(document.pk),
            "{source}": str(Source.objects.get(page__artifact=document).pk),
        }
        text = json.dumps(call)
        for name, value in ids.items():
            text = text.replace(name, value)
        call = json.loads(text)

        answer = ask_mcp(client, "tools/call", name=call["tool"], arguments=call["arguments"])

        [content] = answer["content"]
        assert not answer["isError"], content["text"]
        assert call["says"] in content["text"]
        assert "structuredContent" not in answer

    @pytest.mark.parametrize(
        ("tool", "given", "said"),
        [
            ("call_index_tool", {"tool": ["a", "b"]}, "tool must be a name"),
            ("call_index_tool", {"tool": "x", "arguments": "abc"}, "arguments must be a JSON obj"),
            ("call_index_tool", {"tool": "x", "arguments": [1, 2]}, "arguments must be a JSON obj"),
            ("list_indexes", {"offset": "many"}, "offset must be a whole number"),
            ("search", {"query": "x", "kind": "subgraph", "offset": "x"}, "offset must be"),
        ],
    )
    def test_whose_arguments_rest_does_not_see_are_refused(
        self, client, document, tool, given, said
    ):
        answer = call_tool(client, tool, **({"index": "notes"} | given))

        assert answer["isError"]
        assert said in answer["content"][0]["text"]

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"limit": "many"}, 'field limit: A valid integer is required. Example: {"limit": '),
            ({"mode": "fast"}, 'Allowed: dense, hybrid, sparse. Example: {"mode": "dense"}'),
            ({"filter": "year 2026"}, 'not a string. Example: {"filter": {"year": '),
            ({"kind": "concepts", "filter": {"year": 1}}, "concepts have no filter. Allowed: "),
            ({"index": "nil"}, 'Allowed: notes. Example: {"index": "notes"}'),
        ],
    )
    def test_that_cannot_be_understood_are_answered_with_an_example(
        self, client, document, given, said
    ):
        answer = call_tool(client, "search", **({"index": "notes", "query": "ferry"} | given))

        assert answer["isError"]
        assert said in answer["content"][0]["text"]
        assert answer["structuredContent"]["example"] in answer["content"][0]["text"]

    def test_that_write_are_refused_if_a_name_is_misspelt(self, client, document):
        answer = call_tool(client, "add_document", index="notes", text="Hidden.", group=["red"])

        assert answer["isError"]
        assert "Did you mean groups? Nothing was changed." in answer["content"][0]["text"]
        assert Artifact.objects.count() == 1

    @pytest.mark.parametrize(
        "given",
        [
            {"year": "2026"},
            {"year": [2026.0, "2025"]},
            {"year": {"gte": "2020", "lt": 2027.0}},
            {"year": {"exists": "true"}},
            {"any_of": [{"year": "2026"}, {"not": {"year": {"gt": "1"}}}]},
        ],
    )
    def test_have_values_of_fields_as_text(self, client, document, given):
        answer = call_tool(client, "search", index="notes", query="ferry", filter=given)

        assert NOTE in answer["content"][0]["text"]

    def test_with_values_that_no_field_has_are_refused(self, client, document):
        answer = call_tool(client, "search", index="notes", query="ferry", filter={"year": "new"})

        assert answer["structuredContent"]["field"] == "filter.year"

    def test_add_metadata_as_text(self, client, document):
        given = {"index": "notes", "text": "A lamp.", "metadata": {"year": "2025", "note": "5"}}
        answer = call_tool(client, "add_document", **given)

        assert not answer["isError"], answer
        assert Artifact.objects.get(metadata__year=2025).metadata["note"] == "5"

    def test_with_arguments_of_another_kind_of_search_say_so(self, client, document):
        answer = call_tool(client, "search", index="notes", query="ferry", window=1)

        assert "Searches of the kind pages have no window" in answer["content"][0]["text"]
        assert NOTE in answer["content"][0]["text"]


class TestAnswers:
    def test_hold_each_passage_once(self, client, document):
        given = {"index": "notes", "query": "ferry"}
        answer = ask_mcp(client, "tools/call", name="search", arguments=given)
        assert json.dumps(answer).count(NOTE) == 1

        structured = read_structured(client, "search", **given)
        assert [hit["text"] for hit in structured["hits"]] == [NOTE]


class TestDocuments:
    def test_are_listed_page_by_page(self, client, document):
        give("A lamp.", index="notes", title="Lamps")

        def read(offset):
            listed = call_tool(client, "list_documents", index="notes", limit=1, offset=offset)
            return listed["content"][0]["text"]

        assert read(0).startswith(
            "2 documents; for the next page, offset 1\n[1] Ferries · document "
        )
        assert read(1).startswith("2 documents\n[2] Lamps · document ")

    def test_are_read_to_the_end(self, client, document):
        text = "".join(f"Paragraph {number}. " for number in range(8_000))
        long = give(text, index="notes", title="Long")

        read, given = "", {"page": 1}
        while given:
            answer = call_tool(client, "open_document", document_id=str(long.pk), **given)
            shown = answer["content"][0]["text"]
            assert estimate_tokens(shown) <= MAX_TOKENS
            read += re.search(r"# Page.*\n--- \w+ ---\n([\s\S]*)\n--- \w+ ---", shown)[1]
            following = re.search(r"open_document for page (\d+)(?: and start (\d+))?", shown)
            given = (
                {"page": following[1], "start": following[2] or 0} if following is not None else {}
            )

        assert read == text
        assert "This is the end of the document." in shown

    def test_have_no_page_after_the_last(self, client, document):
        answer = call_tool(client, "open_document", document_id=str(document.pk), page=2)

        assert answer["isError"]
        assert "The document has 1 pages, so there is no page 2." in answer["content"][0]["text"]

    def test_are_deleted_with_the_scope_write(self, client, document):
        reader = client_with_key(scope=Scope.SEARCH)
        refused = call_tool(reader, "delete_document", document_id=str(document.pk))
        assert refused["structuredContent"]["code"] == "missing_scope"
        assert Artifact.objects.exists()

        answer = call_tool(client, "delete_document", document_id=str(document.pk))

        assert "deleted: true" in answer["content"][0]["text"]
        assert not Artifact.objects.exists()

    def test_of_other_groups_do_not_exist(self, client, document):
        hidden = give("Hidden.", index="notes", groups=["red"])
        other = client_with_key(scope=Scope.WRITE, groups=["blue"])

        for tool in ("open_document", "delete_document"):
            answer = call_tool(other, tool, document_id=str(hidden.pk))
            assert answer["structuredContent"]["code"] == "unknown_artifact"
        listed = call_tool(other, "list_documents", index="notes")["content"][0]["text"]
        assert listed.startswith("1 documents\n")


class TestValues:
    def test_are_listed_with_their_documents(self, client, document):
        answer = call_tool(client, "list_values", index="notes", field="year")

        assert answer["content"][0]["text"].endswith("\nyear: 2026 (1)")

    def test_of_an_unknown_field_are_refused(self, client, document):
        answer = call_tool(client, "list_values", index="notes", field="month")

        assert answer["structuredContent"]["allowed"] == ["year"]


class TestToolsOfSpecs:
    @pytest.fixture
    def build(self, db, store, embedder):
        tool = {"description": "Finds.", "parameters": {"what": {}}, "query": "{what}"}
        return make_build("notes", tools={"find": {**tool, "search": "pages"}})

    def test_are_listed_once_the_caller_sees_a_document(self, build):
        def list_names(grant):
            return [tool.name for tool in list_tools(Scope.SEARCH, grant) if "__" in tool.name]

        red, blue = (Grant(groups=frozenset({group})) for group in ("red", "blue"))
        assert list_names(red) == []

        give("A heron.", index="notes", groups=["red"])

        assert list_names(red) == ["notes__find"]
        assert list_names(blue) == []

    def test_are_called_by_their_short_names(self, client, db, store, embedder):
        index, tool = "a-very-long-name-of-an-index-of-many-notes", "find_what_is_in_the_notes"
        declared = {"description": "Finds.", "parameters": {"what": {}}, "query": "{what}"}
        build = make_build(index, tools={tool: {**declared, "search": "pages"}})
        write_all(build, give(NOTE, index=index))

        [name] = [each.name for each in list_tools(Scope.SEARCH, Grant()) if "__" in each.name]
        answer = call_tool(client, name, what="ferry", limit="1", foo=2)

        assert len(name) == 50
        assert NOTE in answer["content"][0]["text"]
        assert "Note: the tool has no foo, which was ignored." in answer["content"][0]["text"]
