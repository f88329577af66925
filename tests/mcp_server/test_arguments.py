"""Arguments as language models and their clients write them."""

import json

import pytest

from core.exceptions import InvalidInput
from mcp_server.arguments import read_arguments, read_text_of_arguments, require_no_misspelt

NAMES = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
SCHEMA = {
    "properties": {
        "query": {"type": "string"},
        "filter": {"type": "object", "additionalProperties": True},
        "limit": {"type": "integer"},
        "page": {"type": "integer", "minimum": 1},
        "min_score": {"type": "number"},
        "explain": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["hybrid", "dense"]},
        "source_id": {"type": "string", "format": "uuid"},
        "index": NAMES,
        "title": {"type": ["string", "null"]},
        "must": {"type": "array", "items": {"type": "string"}},
        "vector": {"oneOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"content": {"type": "string"}, "year": {"type": "integer"}},
            },
        },
    }
}
ID = "4b92a7cc-89b5-5aa8-821a-206bd0e6561e"


def read(**given):
    return read_arguments(SCHEMA, given, {"q": "query"})


@pytest.mark.parametrize(
    ("name", "written", "meant"),
    [
        ("filter", '{"year": 2026}', {"year": 2026}),
        ("filter", "{'year': 2026, 'is_open': True}", {"year": 2026, "is_open": True}),
        ("filter", '[{"year": 2026}]', {"year": 2026}),
        ("filter", {"year": None}, {"year": None}),
        ("limit", "5", 5),
        ("limit", 0, 0),
        ("limit", 5.0, 5),
        ("limit", " 5.0 ", 5),
        ("limit", ["5"], 5),
        ("limit", str(2**60 + 1), 2**60 + 1),
        ("min_score", "0.5", 0.5),
        ("explain", "true", True),
        ("explain", "No", False),
        ("explain", 1, True),
        ("mode", "Dense", "dense"),
        ("mode", '"hybrid"', "hybrid"),
        ("source_id", f" <{ID}> ", ID),
        ("index", '["plain", "papers"]', ["plain", "papers"]),
        ("index", "plain,papers", "plain,papers"),
        ("index", '"plain"', "plain"),
        ("index", ["plain"], ["plain"]),
        ("must", "ferry", ["ferry"]),
        ("must", '["ferry", null, ""]', ["ferry"]),
        ("vector", "[0.5, 1]", [0.5, 1]),
        ("items", {"content": "A", "year": "2026"}, [{"content": "A", "year": 2026}]),
        ("items", '[{"content": "A", "year": null}]', [{"content": "A"}]),
        ("query", 2026, "2026"),
        ("query", ["ferry"], "ferry"),
        ("query", '["a phrase"]', '["a phrase"]'),  # a text may look like JSON
        ("title", "none", "none"),
    ],
)
def test_are_read_as_they_are_meant(name, written, meant):
    assert read(**{name: written}) == ({name: meant}, [])


@pytest.mark.parametrize("nothing", [[""], [None], '[""]', [[]]])
def test_lists_of_nothing_are_left_out_so_that_a_document_keeps_its_groups(nothing):
    assert read(must=nothing) == ({}, [])


@pytest.mark.parametrize("nothing", [None, "", " ", "null", "None", "undefined", [], {}])
@pytest.mark.parametrize(
    "name", ["filter", "limit", "min_score", "explain", "mode", "index", "must", "source_id"]
)
def test_are_left_out_if_they_say_nothing(name, nothing):
    assert read(query="x", **{name: nothing}) == ({"query": "x"}, [])


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("filter", "year=2026"),
        ("limit", "five"),
        ("limit", "nan"),
        ("explain", "maybe"),
        ("mode", "fast"),
        ("min_score", "inf"),
    ],
)
def test_are_passed_on_if_they_cannot_be_read(name, written):
    assert read(**{name: written}) == ({name: written}, [])


@pytest.mark.parametrize("zero", [0, "0", 0.0])
def test_are_left_out_if_they_are_0_where_1_is_the_least(zero):
    assert read(page=zero) == ({}, [])


def test_may_have_other_names():
    assert read(q="ferry", minScore=1, sourceId=ID) == (
        {"query": "ferry", "min_score": 1, "source_id": ID},
        [],
    )
    assert read(q="other", query="ferry") == ({"query": "ferry"}, [])


@pytest.mark.parametrize("wrapper", ["arguments", "params", "kwargs"])
@pytest.mark.parametrize("dump", [dict, json.dumps])
def test_may_stand_in_one_argument(wrapper, dump):
    assert read(**{wrapper: dump({"query": "ferry"})}) == ({"query": "ferry"}, [])


def test_that_do_not_exist_are_named():
    values, ignored = read(query="x", reasoning="I look", items=[{"content": "A", "mood": "b"}])

    assert values == {"query": "x", "items": [{"content": "A"}]}
    assert ignored == ["reasoning", "items.0.mood"]


def test_that_resemble_others_are_refused_where_something_is_written():
    require_no_misspelt(["reasoning", "_meta"], SCHEMA)

    for name in ("filters", "allowed_filters", "filterBy"):
        with pytest.raises(InvalidInput, match="Did you mean filter"):
            require_no_misspelt([name], SCHEMA)
    with pytest.raises(InvalidInput, match="Did you mean items"):
        require_no_misspelt(["visible_item"], SCHEMA)


@pytest.mark.parametrize("deep", ["[" * 100_000, "{" * 30_000 + "1", "[" * 900 + "]" * 900])
def test_of_any_depth_are_read_or_passed_on(deep):
    values, _ = read(filter=deep, index=deep)

    assert set(values) <= {"filter", "index"}


class TestWhole:
    def test_may_be_json_text(self):
        body = json.dumps({"method": "tools/call", "params": {"arguments": '{"query": "x"}'}})

        assert json.loads(read_text_of_arguments(body.encode()))["params"]["arguments"] == {
            "query": "x"
        }

    @pytest.mark.parametrize(
        "body",
        [
            b'{"params": {"arguments": {"query": "x"}}}',
            b'{"params": {"arguments": "x"}}',
            b'"arguments": "',
        ],
    )
    def test_are_otherwise_not_touched(self, body):
        assert read_text_of_arguments(body) == body
