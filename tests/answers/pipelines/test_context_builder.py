from dataclasses import replace

import pytest

from answers.pipelines.context_builder import ContextBuilder
from core.exceptions import InvalidInput
from retrieval.search import Verdict
from tests.answers.making import make_passage

SENTENCE = "The heron stands in the shallows at dawn and waits for fish. "


def build(passages, *, limit=10, **settings):
    built = ContextBuilder(**settings).run("herons", passages, limit)
    return built["passages"], built["contexts"]


class TestContextBuilder:
    def test_selects_and_numbers_the_best_passages(self):
        given = [make_passage(number, f"Text {number}.") for number in range(1, 5)]

        passages, contexts = build(given, limit=3)

        assert passages == given[:3]
        assert [(each.number, each.text) for each in contexts] == [
            (1, "Text 1."), (2, "Text 2."), (3, "Text 3."),
        ]  # fmt: skip

    def test_respects_its_limit_and_cuts_the_last_text_after_a_sentence(self):
        given = [make_passage(number, (SENTENCE * 6 + f"Number {number}.")) for number in (1, 2, 3)]

        passages, contexts = build(given, max_chars=700)

        assert len(passages) == 3
        assert [each.number for each in contexts] == [1, 2]
        assert contexts[1].text == (SENTENCE * 5).strip()
        assert sum(len(each.text) for each in contexts) <= 700

    def test_leaves_out_a_text_that_would_be_cut_too_short(self):
        given = [make_passage(1, SENTENCE * 6), make_passage(2, SENTENCE * 8)]

        assert [each.number for each in build(given, max_chars=500)[1]] == [1]

    def test_leaves_out_a_text_contained_in_another(self):
        whole = make_passage(1, SENTENCE * 3)
        part = make_passage(2, SENTENCE.strip())
        other = make_passage(3, "Granite cools slowly.")

        passages, contexts = build([whole, part, other])

        assert len(passages) == 3
        assert [each.number for each in contexts] == [1, 3]

    def test_makes_no_context_of_a_stale_hit(self):
        old, new = make_passage(1, "It was so."), make_passage(2, "It is so.")
        stale = replace(old, hit=replace(old.hit, verdict=Verdict.STALE))

        passages, contexts = build([stale, new])

        assert passages == [stale, new]
        assert [each.text for each in contexts] == ["It is so."]

    def test_uses_the_chunk_of_a_question(self):
        asked = make_passage(1, "What?", kind="question", chunk_text="The chunk.")

        assert build([asked])[1][0].text == "The chunk."

    def test_makes_no_contexts_without_passages(self):
        assert build([]) == ([], [])

    def test_refuses_a_limit_that_is_too_small(self):
        with pytest.raises(InvalidInput, match="must be 200 or more"):
            ContextBuilder(max_chars=10)
