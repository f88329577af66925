import pytest

from indexing.chunking import prepend_context
from indexing.spec import ParagraphStrategy
from tests.indexing.chunking.fakes import FAMILY, STRATEGIES, Counter, by_words, cut, texts
from tests.indexing.chunking.soundness import assert_sound, graphemes_cut


class TestParagraphStrategy:
    def test_keeps_a_source_whole_if_it_fits(self):
        text = "One paragraph. Two sentences.\n\nAnother paragraph."
        counter = Counter()

        [chunk] = cut(text, ParagraphStrategy(), context="Title", window=60, count_tokens=counter)

        assert chunk.text == text
        assert chunk.token_count == len("Title\n") + len(text) + 2
        assert counter.calls == 1

    def test_cuts_into_as_few_pieces_as_possible(self):
        text = " ".join(f"Sentence {i} has six words." for i in range(100))

        chunks = cut(text, ParagraphStrategy(), window=102, count_tokens=by_words)

        assert_sound(text, chunks)
        assert len(chunks) == 5
        assert all(chunk.token_count == 102 for chunk in chunks)

    def test_prefers_paragraph_boundaries_if_that_adds_no_piece(self):
        paragraph = " ".join(["Four words stand here."] * 15)
        text = "\n\n".join([paragraph] * 3)

        chunks = cut(text, ParagraphStrategy(), window=82, count_tokens=by_words)

        assert texts(chunks) == [paragraph] * 3


class TestWindow:
    @pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
    @pytest.mark.parametrize("per_character", [1, 3])
    def test_is_never_exceeded(self, strategy, per_character):
        text = "Some words stand here. 今天很好。" * 60 + "x" * 900 + FAMILY * 30
        counter = Counter(per_character)

        chunks = cut(text, strategy, context="A title", window=64, count_tokens=counter)

        assert_sound(text, chunks)
        for chunk in chunks:
            [count] = counter([prepend_context("A title", chunk.text)])
            assert chunk.token_count == count <= 64

    def test_counts_tokens_once_if_all_chunks_fit(self):
        counter = Counter()

        cut("A sentence. " * 500, context="Title", window=600, count_tokens=counter)

        assert counter.calls == 1

    def test_splits_with_few_token_counts(self):
        counter = Counter()

        chunks = cut("一二三四五六七。" * 500, context="Title", window=256, count_tokens=counter)

        assert counter.calls == 3
        assert all(chunk.text.endswith("。") for chunk in chunks)

    def test_splits_text_with_uneven_tokens_per_character(self):
        def count_tokens(texts):
            return [len(text) + 30 * text.count("﷽") + 2 for text in texts]

        text = "plain words " * 30 + "﷽" * 40 + " plain words" * 30

        chunks = cut(text, window=64, count_tokens=count_tokens)

        assert_sound(text, chunks)
        assert all(chunk.token_count <= 64 for chunk in chunks)

    def test_splits_text_with_more_tokens_than_the_sum_of_its_parts(self):
        def count_tokens(texts):
            return [len(text.split()) ** 2 + 2 for text in texts]

        text = "One two. Three four. " * 40

        chunks = cut(text, window=32, count_tokens=count_tokens)

        assert_sound(text, chunks)
        assert all(chunk.token_count <= 32 for chunk in chunks)

    def test_cuts_a_grapheme_only_if_it_exceeds_the_window(self):
        text = FAMILY * 20

        kept = cut(text, window=16, count_tokens=Counter())
        broken = cut(text, window=16, count_tokens=Counter(3))

        assert not graphemes_cut(text, kept)
        assert graphemes_cut(text, broken)
        assert all(chunk.token_count <= 16 for chunk in kept + broken)

    def test_refuses_a_character_that_cannot_fit(self):
        with pytest.raises(ValueError, match="character at offset 0"):
            cut("x", window=16, count_tokens=Counter(20))
