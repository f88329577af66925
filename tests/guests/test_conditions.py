"""Filters of OpenAI and conditions of Dify."""

import pytest

from core.exceptions import InvalidInput
from guests.conditions import Conditions, read_dify_conditions, read_openai_filter
from indexing.spec import IndexSpec
from retrieval.filters import MAX_DEPTH, parse_filter

SPEC = IndexSpec(
    name="minutes",
    metadata={
        "year": {"type": "integer"},
        "board": {"type": "keyword"},
        "topics": {"type": "keyword", "many": True},
        "public": {"type": "bool"},
        "held": {"type": "datetime"},
    },
)


def compare(type, value, key="year"):
    return {"type": type, "key": key, "value": value}


class TestOpenAiFilters:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (None, None),
            (compare("eq", 2019), {"year": 2019}),
            (compare("ne", 2019), {"not": {"year": 2019}}),
            (compare("gt", 2019), {"year": {"gt": 2019}}),
            (compare("gte", 2019), {"year": {"gte": 2019}}),
            (compare("lt", 2019), {"year": {"lt": 2019}}),
            (compare("lte", 2019), {"year": {"lte": 2019}}),
            (compare("in", ["a", "b"], "board"), {"board": ["a", "b"]}),
            (compare("nin", ["a", "b"], "board"), {"not": {"board": ["a", "b"]}}),
            (
                {
                    "type": "and",
                    "filters": [
                        compare("eq", 2019),
                        {"type": "or", "filters": [compare("eq", "works", "board")]},
                    ],
                },
                {"all_of": [{"year": 2019}, {"any_of": [{"board": "works"}]}]},
            ),
        ],
    )
    def test_are_filters_of_the_api(self, given, expected):
        assert read_openai_filter(given) == expected
        parse_filter(expected, SPEC)

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ([], "filters"),
            ({"year": 2019}, "filters.type"),
            ({"type": "like", "key": "year", "value": 1}, "filters.type"),
            ({"type": ["eq"], "key": "year", "value": 1}, "filters.type"),
            ({"type": "eq", "value": 1}, "filters.key"),
            (compare("eq", 1, "not"), "filters.key"),
            ({"type": "eq", "key": "year"}, "filters.value"),
            (compare("eq", [1]), "filters.value"),
            (compare("in", 1), "filters.value"),
            (compare("eq", {"gt": 1}), "filters.value"),
            ({"type": "and", "filters": []}, "filters.filters"),
            ({"type": "or", "filters": [compare("eq", 1), 3]}, "filters.filters.1"),
        ],
    )
    def test_that_are_wrong_are_refused_by_their_place(self, given, field):
        with pytest.raises(InvalidInput) as caught:
            read_openai_filter(given)

        assert caught.value.field == field

    def test_are_not_read_without_end(self):
        nested = compare("eq", 1)
        for _ in range(MAX_DEPTH):
            nested = {"type": "and", "filters": [nested]}

        with pytest.raises(InvalidInput, match=f"nested at most {MAX_DEPTH} deep"):
            read_openai_filter(nested)


def read(*conditions, operator="and"):
    return read_dify_conditions(
        Conditions.model_validate(
            {
                "logical_operator": operator,
                "conditions": [
                    {"name": name, "comparison_operator": by, "value": value}
                    for name, by, value in conditions
                ],
            }
        ),
        SPEC,
    )


class TestDifyConditions:
    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            (("board", "is", "works"), {"board": "works"}),
            (("board", "is not", "works"), {"not": {"board": "works"}}),
            (("topics", "contains", "tide"), {"topics": "tide"}),
            (("topics", "not contains", "tide"), {"not": {"topics": "tide"}}),
            (("board", "in", ["works"]), {"board": ["works"]}),
            (("year", "=", "2019"), {"year": 2019}),
            (("year", "≠", 2019.0), {"not": {"year": 2019}}),
            (("year", ">", "2019"), {"year": {"gt": 2019}}),
            (("year", "<", 2019), {"year": {"lt": 2019}}),
            (("year", "≥", 2019), {"year": {"gte": 2019}}),
            (("year", "≤", 2019), {"year": {"lte": 2019}}),
            (("held", "before", "2019-05-01"), {"held": {"lt": "2019-05-01"}}),
            (("held", "after", "2019-05-01"), {"held": {"gt": "2019-05-01"}}),
            (("public", "is", "True"), {"public": True}),
            (("board", "empty", None), {"board": None}),
            (("board", "not empty", ""), {"board": {"exists": True}}),
            ((["board", "topics"], "is", "a"), {"any_of": [{"board": "a"}, {"topics": "a"}]}),
        ],
    )
    def test_are_filters_of_the_api(self, condition, expected):
        assert read(condition) == {"all_of": [expected]}
        parse_filter(expected, SPEC)

    def test_are_joined_as_they_say(self):
        assert read(("year", "=", 1), ("year", "=", 2), operator="or") == {
            "any_of": [{"year": 1}, {"year": 2}]
        }

    @pytest.mark.parametrize("given", [None, Conditions(), Conditions(conditions=[])])
    def test_may_be_left_out(self, given):
        assert read_dify_conditions(given, SPEC) is None

    def test_by_an_unknown_operator_are_refused(self):
        with pytest.raises(InvalidInput) as caught:
            read(("year", "=", 1), ("board", "start with", "w"))

        assert caught.value.field == "metadata_condition.conditions.1.comparison_operator"
        assert "is not" in caught.value.allowed

    def test_on_a_part_of_a_single_value_are_refused(self):
        with pytest.raises(InvalidInput, match="board has one value, which is compared as a whole"):
            read(("board", "contains", "work"))
