import unicodedata
from time import process_time

import pytest

from indexing.spec import ParagraphStrategy, SentenceStrategy
from tests.indexing.chunking.fakes import FAMILY, FLAG, cut
from tests.indexing.chunking.soundness import assert_sound, graphemes_cut


class TestSplittingAtBoundaries:
    def test_splits_long_sentences_at_clauses(self):
        text = ", ".join(["a clause that goes on for some while"] * 40)

        chunks = cut(text)

        assert_sound(text, chunks)
        assert all(chunk.text.endswith(",") for chunk in chunks[:-1])

    def test_splits_clauses_at_words(self):
        chunks = cut("word " * 400)

        assert all(set(chunk.text.split()) == {"word"} for chunk in chunks)

    def test_cuts_text_without_spaces_at_the_limit(self):
        text = "x" * 2_000_000

        chunks = cut(text)

        assert_sound(text, chunks)
        assert {len(chunk.text) for chunk in chunks} == {500}

    def test_cuts_text_without_spaces_evenly(self):
        assert [len(chunk.text) for chunk in cut("x" * 1_002)] == [334, 334, 334]


class TestSplittingAtGraphemes:
    @pytest.mark.parametrize(
        "grapheme", [FAMILY, FLAG, "e\u0301\u0323", "한", "क्षि", "1️⃣", "👍🏽", "นี้"]
    )
    @pytest.mark.parametrize("lead", ["", "x", "xy"])
    def test_keeps_graphemes_whole(self, grapheme, lead):
        text = lead + grapheme * 700

        chunks = cut(text, SentenceStrategy(max_chars=50))

        assert_sound(text, chunks)
        assert len(chunks) > 10
        assert not graphemes_cut(text, chunks)
        assert all(len(chunk.text) <= 50 for chunk in chunks)

    def test_keeps_a_grapheme_that_fits_the_limit_beside_others(self):
        text = "a" + "\u0301" * 44 + "b" + "\u0301" * 14

        assert [len(chunk.text) for chunk in cut(text, SentenceStrategy(max_chars=50))] == [45, 15]

    def test_cuts_a_grapheme_longer_than_the_limit(self):
        text = "a" + "\u0301" * 200_000

        chunks = cut(text)

        assert_sound(text, chunks)
        assert {len(chunk.text) for chunk in chunks[1:-1]} == {500}

    def test_never_separates_a_mark_from_the_space_before_it(self):
        text = "a \u0301" * 300

        chunks = cut(text, SentenceStrategy(max_chars=50))

        assert_sound(text, chunks)
        assert not any(unicodedata.combining(chunk.text[0]) for chunk in chunks)

    def test_stays_fast_on_runs_of_flags_and_of_marks_on_spaces(self):
        for text in (FLAG * 20_000, " \u0301" * 20_000):
            assert_sound(text, cut(text, ParagraphStrategy(), window=64))

    def test_splits_a_run_of_flags_as_fast_with_a_large_limit(self):
        text = FLAG * 20_000

        def seconds(limit):
            started = process_time()
            cut(text, SentenceStrategy(max_chars=limit))
            return process_time() - started

        # The times are about equal; in quadratic time the ratio was 12. The minimum of three runs,
        # because other work on the machine can only add time.
        assert min(seconds(10_000) for _ in range(3)) < 6 * min(seconds(500) for _ in range(3))
