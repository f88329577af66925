"""The test by words: no passage here is near a query, because the threshold is out of reach."""

import pytest

from access.grants import EVERYTHING
from answers.relevance import Relevance, RelevanceTest, join_relevance
from indexing.stores.sparse import Bm25Encoder
from retrieval.search.targets import find_builds, make_targets
from tests.factories import change_search, give, sync
from tests.written import make_build

UNREACHABLE = RelevanceTest(1.0, [], "")


def judge(query: str, index: str = "plain") -> Relevance:
    [target] = make_targets([find_builds([index], EVERYTHING)[index]], ["chunk"])
    return UNREACHABLE.judge(target, query)


def is_relevant(query: str, index: str = "plain") -> bool | None:
    return judge(query, index).is_relevant


class TestRelevanceTest:
    def test_accepts_a_name_whose_synonym_a_passage_has(self, build):
        sync(build, give("We train neural machine translation for Basque."))
        change_search(build, synonyms=(("NMT", "neural machine translation"),))

        assert is_relevant("NMT")
        assert is_relevant("What is nmt for Basque?")
        assert not is_relevant("NMT for Icelandic")

    def test_accepts_an_abbreviation_that_another_passage_defines(self, build):
        sync(
            build,
            give("Neural machine translation (NMT) needs much text.", title="One"),
            give("We use neural machine translation for Basque.", title="Two"),
            give("Recurrent networks are slow. RNNs were common.", title="Three"),
        )

        assert is_relevant("NMT for Basque")
        assert not is_relevant("RNN for Basque")

    def test_accepts_the_long_form_of_an_abbreviation_that_a_passage_defines(self, build):
        sync(
            build,
            give("Neural machine translation (NMT) needs much text.", title="One"),
            give("NMT for Basque is new.", title="Two"),
        )

        assert is_relevant("neural machine translation Basque")

    def test_accepts_the_words_of_a_title_that_no_passage_is_indexed_with(self, db, store):
        build = make_build("untitled", chunks={"context": []})
        sync(build, give("Boats leave before dawn.", index="untitled", title="Guide for Pilots"))

        assert is_relevant("guides for a pilot", "untitled")
        assert is_relevant("guide to boats", "untitled")
        assert not is_relevant("guides for a cook", "untitled")

    def test_names_the_words_that_no_passage_has(self, build):
        sync(build, give("Boats leave the harbour before dawn."))

        judged = judge("Which boats sail to Rome and Oslo?")

        assert judged.missing == ("sail", "Rome", "Oslo")
        assert judged.reason == (
            "no passage is similar to it, and none mentions “sail”, “Rome” or “Oslo”"
        )

    def test_says_so_if_every_word_occurs_but_not_together(self, build):
        sync(build, give("Boats leave.", title="One"), give("Herons wait.", title="Two"))

        judged = judge("boats and herons")

        assert judged.is_relevant is False
        assert judged.reason == "no passage is similar to it, and none has all of its words"

    def test_encodes_no_passage_again(self, build, monkeypatch):
        sync(build, give("Boats leave the harbour before dawn."))
        monkeypatch.setattr(Bm25Encoder, "encode_document", None)

        assert is_relevant("boats at dawn")
        assert not is_relevant("boats to Rome")

    def test_cannot_tell_without_passages(self, build):
        assert is_relevant("boats") is None


@pytest.mark.parametrize(
    ("tested", "expected"),
    [
        ([False, True, None], True),
        ([False, None], None),
        ([False, False], False),
        ([], None),
    ],
)
def test_a_query_is_relevant_to_several_indexes_if_it_is_to_one(tested, expected):
    assert join_relevance([Relevance(each) for each in tested]).is_relevant is expected


def test_a_word_is_missing_from_several_indexes_if_none_has_it():
    joined = join_relevance([Relevance(False, ("a", "b", "c")), Relevance(False, ("c", "a"))])

    assert joined.missing == ("a", "c")
