from types import SimpleNamespace

import pytest

from indexing.spec import IndexSpec
from retrieval.search.reading import read_search
from retrieval.search.request import SearchOptions

TYPES = {"year": "integer", "depth": "float", "held_on": "datetime", "board": "keyword"}
SPEC = IndexSpec.model_validate(
    {"name": "minutes", "metadata": {name: {"type": type} for name, type in TYPES.items()}}
)


def read(query):
    build = SimpleNamespace(spec=SPEC)
    return read_search(query, SearchOptions(reads_syntax=True), [build])


@pytest.mark.parametrize(
    ("typed", "condition"),
    [
        ("depth:-1.5", {"depth": [-1.5]}),
        ("depth:−1.5", {"depth": [-1.5]}),
        ("year:>=2024", {"year": {"gte": 2024}}),
        ("year:>2024", {"year": {"gt": 2024}}),
        ("year:≤2024", {"year": {"lte": 2024}}),
        ("held_on:<2024-03", {"held_on": {"lt": "2024-03"}}),
        ('year:">=2024"', {"year": {"gte": 2024}}),
        ("board:>works", {"board": [">works"]}),
    ],
)
def test_numbers_and_dates_have_signs_and_bounds(typed, condition):
    assert read(f"crane {typed}").filter == {"all_of": [condition]}


@pytest.mark.parametrize("typed", ["year:[2023 TO 2024]", "year:2023..2024", "year:>soon"])
def test_a_note_says_what_is_no_number(typed):
    found = read(f"crane {typed}")

    assert not found.filter
    assert "read as text" in found.notes[0]
