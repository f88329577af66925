"""Searches with words and phrases that hits must have or lack."""

import pytest

from core.exceptions import InvalidInput
from retrieval.retrievers import (
    ChunkRetriever,
    QueriesRetriever,
)
from retrieval.search import run, targets
from retrieval.search.query_syntax import Conditions, ReadQuery
from retrieval.search.query_weights import QueryWeights
from tests.factories import give, sync

MODES = ["dense", "sparse", "hybrid"]
TEXTS = {
    "phrase": "The committee found a water hydrology model of the bay.",
    "apart": "Hydrology is a science; water is another subject of the bay.",
    "salary": "The salary statement of the committee names water and an accident.",
    "crash": "An accident happened on the north quay of the bay.",
}


@pytest.fixture
def bay(build):
    """Four texts by the name of what they are about."""
    artifacts = {name: give(text) for name, text in TEXTS.items()}
    sync(build, *artifacts.values())
    return {str(artifact.pk): name for name, artifact in artifacts.items()}


def names(answer, bay):
    return {bay[hit.payload["artifact_id"]] for hit in answer.hits}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"water hydrology"', {"phrase"}),
        ("+science bay", {"apart"}),
        ("science OR salary", {"apart", "salary"}),
        ('committee -"salary statement" -accident -science', {"phrase"}),
        ("„ACCIDENT“ -salary", {"crash"}),
    ],
)
def test_a_typed_query_is_followed_in_every_mode(bay, mode, query, found):
    assert names(ChunkRetriever("plain", mode=mode).search(query), bay) == found


@pytest.mark.parametrize("mode", MODES)
def test_so_are_the_parameters_of_a_request(bay, mode):
    given = {"must": ["bay"], "phrases": ["water"], "must_not": ["water hydrology"]}

    assert names(ChunkRetriever("plain", mode=mode, **given).search("committee"), bay) == {"apart"}


def test_a_search_fills_its_limit_though_the_first_are_left_out(build):
    sync(build, *(give(f"The ferry, ferry {n} of the salary") for n in range(40)))
    sync(build, *(give(f"A boat named {n}") for n in range(3)))

    for mode in ("dense", "hybrid"):
        hits = ChunkRetriever("plain", mode=mode, limit=3).search("ferry boat -salary").hits
        assert len(hits) == 3


def test_a_phrase_is_found_that_words_alone_do_not_find(build, monkeypatch):
    crane = give("北岸壁のクレーンは新しい。")
    sync(build, crane, give("The crane on the quay."))
    weights = QueryWeights(dense=0.0)
    monkeypatch.setattr(targets, "weigh_rankings", lambda *_: weights)

    [hit] = ChunkRetriever("plain").search('"岸壁のクレ"').hits

    assert hit.payload["artifact_id"] == str(crane.pk)


def test_a_typed_phrase_that_no_passage_has_is_searched_as_words(bay):
    answer = ChunkRetriever("plain").search('"hydrology water" -science')

    assert names(answer, bay) >= {"phrase"}
    assert "apart" not in names(answer, bay)
    [note] = answer.notes
    assert note.startswith("No passage was found with “hydrology water”")


def test_a_requested_phrase_that_no_passage_has_finds_nothing(bay):
    answer = ChunkRetriever("plain", phrases=["hydrology water"]).search("bay")

    assert not answer.hits
    [note] = answer.notes
    assert "within one passage" in note


def test_nothing_that_is_left_out_is_found_though_nothing_else_is_asked_for(bay):
    answer = ChunkRetriever("plain").search("-water -nowhere")

    assert names(answer, bay) == {"crash"}
    assert any("nothing was searched for" in note for note in answer.notes)


def test_all_passages_of_a_small_index_were_compared(bay):
    read = ReadQuery("bay", Conditions(excluded=(("salary",),)))

    for limit in (1, 2):  # one ranking for each query, with hits beyond the limit
        assert not QueriesRetriever("plain", limit=limit, read=read).search("bay").notes


def test_a_note_says_that_not_all_passages_were_compared(bay, monkeypatch):
    monkeypatch.setattr(run, "COMPARED_POINTS", 2)

    answer = ChunkRetriever("plain", phrases=["hydrology water"]).search("bay")

    [note] = answer.notes
    assert note.startswith("Only the 2 passages nearest")


def test_the_query_without_its_syntax_is_what_is_searched(bay):
    assert ChunkRetriever("plain").search('"water hydrology" -salary').text == "water hydrology"


def test_several_wordings_have_the_same_conditions_but_no_syntax(bay):
    retriever = QueriesRetriever("plain")

    [ranking] = retriever.search_queries(['"water hydrology"']).rankings

    assert len(ranking) == 4


def test_a_condition_without_words_is_refused(bay):
    with pytest.raises(InvalidInput, match="must_not must hold words"):
        ChunkRetriever("plain", must_not=["…"]).search("bay")


def test_a_query_without_syntax_compares_no_text(bay, monkeypatch):
    monkeypatch.setattr(run, "_get_text", pytest.fail)

    assert len(ChunkRetriever("plain").search("the accident on the quay").hits) == 4
