import pytest
from hypothesis import given
from hypothesis import strategies as st

from summaries.extractive import summarise_in_one_line
from tests.text.texts import ENDLESS, ENGLISH, EVERY_TEXT


class TestSummariseInOneLine:
    def test_returns_the_first_sentence(self):
        line = summarise_in_one_line(ENGLISH, heading="")

        assert line == "The hip flexors lift the thigh towards the trunk."

    def test_prefers_a_sentence_with_words_of_the_heading(self):
        line = summarise_in_one_line(ENGLISH, heading="Knee pain: when it hurts")

        assert line == "Stop when the knee hurts."

    def test_skips_labels(self):
        assert summarise_in_one_line("Figure 3\n\nSquats make legs strong.", heading="") == (
            "Squats make legs strong."
        )

    def test_cuts_after_a_word_with_an_ellipsis(self):
        line = summarise_in_one_line(ENDLESS, heading="", limit=60)

        assert line.endswith("…")
        assert ENDLESS.startswith(line[:-1] + " ")

    def test_joins_wrapped_lines(self):
        assert (
            summarise_in_one_line("Squats make\n  legs strong.", heading="")
            == "Squats make legs strong."
        )

    @pytest.mark.parametrize("text", EVERY_TEXT.values(), ids=EVERY_TEXT)
    def test_is_never_empty(self, text):
        assert summarise_in_one_line(text, heading="")

    @given(st.text(), st.text(max_size=20), st.integers(2, 200))
    def test_returns_one_line_within_the_limit_and_nothing_only_for_blank_text(
        self, text, heading, limit
    ):
        line = summarise_in_one_line(text, heading=heading, limit=limit)

        assert len(line) <= limit
        assert len(line.splitlines()) <= 1
        assert bool(line) == bool(text.strip())
