import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.chunking import Chunk, fit_context, prepend_context
from indexing.spec import SentenceStrategy
from tests.indexing.chunking.fakes import FAMILY, FLAG, STRATEGIES, Counter, cut
from tests.indexing.chunking.soundness import assert_sound, graphemes_cut

FRAGMENTS = st.sampled_from(
    [
        "A short sentence.", "Dr. Who said 3.14, e.g. pi!", "# Heading", "- entry",
        "1. point", " ", "  ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "\u2028", "\x1c", "\f", ".",
        "...", ")",
        "今天很好。", "再见", "สวัสดี", "यह है।", "هل؟", FAMILY, FLAG, "🇩", "\u200d",
        "\u0301", "e\u0301", "\ufe0f", "क्", "ष", "\u1100", "\u1161", "\u0600", "word", "x" * 70,
        "\u0301" * 60, "a, b; c",
    ]
)  # fmt: skip
TEXTS = st.text(max_size=300) | st.lists(FRAGMENTS, max_size=80).map("".join)


class TestCutChunks:
    @pytest.mark.parametrize("text", ["", " ", "\r\n\t \u3000\n", "\u2028"])
    def test_cuts_no_chunks_from_empty_text(self, text):
        counter = Counter()

        assert cut(text, count_tokens=counter) == []
        assert counter.calls == 0

    def test_strips_outer_white_space(self):
        [chunk] = cut("  \r\n Words here. \n")

        assert chunk == Chunk(0, 5, 16, "Words here.", 13)

    def test_gives_identical_lines_different_offsets(self):
        text = "The same line again.\n" * 700

        chunks = cut(text)

        assert_sound(text, chunks)
        assert len({chunk.start for chunk in chunks}) == len(chunks) >= 28
        assert all(chunk.start % 21 == 0 for chunk in chunks)


class TestEveryText:
    @pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
    @given(
        text=TEXTS,
        context=st.sampled_from(["", "Title"]) | st.text(max_size=40),
        window=st.integers(16, 80) | st.just(10_000),
        per_character=st.integers(1, 3),
    )
    @settings(deadline=None, max_examples=150)
    def test_is_cut_into_valid_chunks(self, strategy, text, context, window, per_character):
        counter = Counter(per_character)

        chunks = cut(text, strategy, context=context, window=window, count_tokens=counter)

        assert_sound(text, chunks)
        fitted = fit_context(context, window, counter)
        for chunk in chunks:
            [count] = counter([prepend_context(fitted, chunk.text)])
            assert chunk.token_count == count <= window
            assert len(chunk.text) <= getattr(strategy, "max_chars", len(text))

    @given(text=TEXTS)
    @settings(deadline=None, max_examples=200)
    def test_keeps_its_graphemes(self, text):
        longest = max((len(match[0]) for match in regex.finditer(r"\X", text)), default=0)
        if longest <= 50:
            assert not graphemes_cut(text, cut(text, SentenceStrategy(max_chars=50)))
