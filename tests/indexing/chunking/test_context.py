import pytest

from indexing.chunking import fit_context, prepend_context
from tests.indexing.chunking.fakes import FAMILY, Counter, cut
from tests.indexing.chunking.soundness import assert_sound


class TestEmbeddedText:
    def test_begins_with_the_context(self):
        assert prepend_context("Cat", "A cat sat.") == "Cat\nA cat sat."

    def test_is_the_text_alone_without_context(self):
        assert prepend_context("", "A cat sat.") == "A cat sat."

    def test_does_not_repeat_a_context_the_text_begins_with(self):
        assert prepend_context("Cat", "Cat: it sat.") == "Cat: it sat."
        assert prepend_context("Cat", "Caterpillars crawl.") == "Cat\nCaterpillars crawl."


class TestFitContext:
    def test_keeps_a_context_below_half_the_window(self):
        assert fit_context(" A title ", 32, Counter()) == "A title"

    @pytest.mark.parametrize("context", ["words of a title " * 500, "x" * 10_000, FAMILY * 900])
    def test_shortens_a_context_to_half_the_window(self, context):
        counter = Counter()

        fitted = fit_context(context, 64, counter)

        assert context.startswith(fitted)
        assert 20 < len(fitted) <= 32
        assert counter.calls == 2
        assert fit_context(fitted, 64, counter) == fitted

    def test_cuts_a_context_after_a_word(self):
        assert fit_context("title " * 50, 64, Counter()).split() == ["title"] * 5

    def test_drops_a_context_that_does_not_fit(self):
        assert fit_context("x" * 100, 16, Counter(9)) == ""

    def test_equals_the_context_that_split_into_chunks_uses(self):
        context, text = "words of a title " * 500, "A sentence of a text. " * 90
        fitted = fit_context(context, 64, Counter())

        chunks = cut(text, context=context, window=64)

        assert chunks == cut(text, context=fitted, window=64)
        assert_sound(text, chunks)
        assert all(len(prepend_context(fitted, chunk.text)) + 2 <= 64 for chunk in chunks)
