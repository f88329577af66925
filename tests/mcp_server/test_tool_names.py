"""Names of tools that specs declare."""

import re

from mcp_server.tool_names import MAX_CHARS, name_declared_tool

INDEX = "department-of-harbours-and-lighthouses-handbook-2026"
TOOL = "search_the_minutes_of_the_board_by_name_of_the_board"


def test_are_whole_if_they_are_short():
    assert name_declared_tool("physio", "search_by_muscle") == "physio__search_by_muscle"


def test_are_shortened_the_same_way_each_time():
    name = name_declared_tool(INDEX, TOOL)

    assert name == "department-of__search_the_minutes_jl3qdsfkq3tlvq3p"
    assert name_declared_tool(INDEX, TOOL) == name


def test_have_at_most_50_characters_that_every_provider_takes():
    for index in ("a", "a-b", "x" * 63, "a" + "-" * 62):
        for tool in ("t", "t_" * 31, "y" * 63):
            name = name_declared_tool(index, tool)
            assert re.fullmatch(r"[a-z][a-z0-9_-]*", name)
            assert len(name) <= MAX_CHARS


def test_are_never_those_of_another_tool():
    pairs = [(INDEX[:n], TOOL[:m]) for n in range(1, 53) for m in range(1, 53)]
    names = {name_declared_tool(*pair) for pair in pairs}
    assert len(names) == len(pairs)

    # A tool that is named as another's short name has a short name of its own.
    index, _, tool = name_declared_tool(INDEX, TOOL).partition("__")
    assert name_declared_tool(index, tool) != name_declared_tool(INDEX, TOOL)
