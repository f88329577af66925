import pytest
from pydantic import ValidationError

from indexing.spec import SearchSpec
from retrieval.retrievers import ChunkRetriever, QueriesRetriever
from retrieval.search.query_vectors import add_synonyms
from tests.factories import change_search, give, sync

SPEND = ("capex", "capital expenditure", "purchases of property")
GROUPS = (SPEND, ("Café", "coffee house"), ("property", "plant"), ("C++", "cpp"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How much capex?", "How much capex? capital expenditure purchases of property"),
        ("CAPITAL  Expenditure", "CAPITAL  Expenditure capex purchases of property"),
        ("a cafe", "a cafe coffee house"),
        ("capex and capital expenditure", "capex and capital expenditure purchases of property"),
        ("purchases of property", "purchases of property plant capex capital expenditure"),
        ("capexes, expenditure, capital", "capexes, expenditure, capital"),
        ("cpp templates", "cpp templates C++"),
        ("templates of C++", "templates of C++ cpp"),
        ("written in C", "written in C"),
        ("", ""),
    ],
)
def test_a_query_is_followed_by_the_other_names(query, expected):
    added = add_synonyms(query, GROUPS)

    assert sorted(added.split()) == sorted(expected.split())
    assert added.startswith(query)


@pytest.fixture
def spending(build):
    """One of two documents; another name for what it is about is declared."""
    spending, herons = give("Purchases of property were high."), give("Herons wait for fish.")
    sync(build, spending, herons)
    change_search(build, synonyms=(SPEND,))
    return spending


@pytest.mark.parametrize("mode", ["dense", "sparse", "hybrid"])
def test_a_passage_is_found_by_another_name(spending, mode):
    [best, *_] = ChunkRetriever("plain", mode=mode).search("capex").hits

    assert best.payload["artifact_id"] == str(spending.pk)


def test_each_of_several_queries_is_searched_with_its_other_names(spending):
    rankings = QueriesRetriever("plain").search_queries(["herons", "capex"]).rankings

    found = [ranking[0].payload["artifact_id"] == str(spending.pk) for ranking in rankings]
    assert found == [False, True]


@pytest.mark.parametrize("group", [["capex"], ["capex", "?!"], ["capex", "x" * 101]])
def test_a_group_has_two_names_of_at_most_100_characters(group):
    with pytest.raises(ValidationError):
        SearchSpec(synonyms=[group])
