import numpy as np
import pytest

from indexing.spec import LlmStrategy, SemanticStrategy, SentenceStrategy
from tests.indexing.chunking.fakes import by_letters, cut
from tests.indexing.chunking.soundness import assert_sound


class TestSemanticStrategy:
    def test_cuts_where_the_topic_changes(self):
        cats = " ".join(["Cats sat at a mat and ate that."] * 8)
        moods = " ".join(["Moody moon roots grow on woods."] * 8)
        text = f"{cats} {moods}"

        chunks = cut(text, SemanticStrategy())

        assert_sound(text, chunks)
        # A window mixes neighbours, so the change may be found one sentence off.
        assert any(abs(chunk.start - len(cats) - 1) <= 32 for chunk in chunks[1:])

    def test_does_not_cut_a_text_about_one_topic(self):
        assert len(cut("All the same. " * 60, SemanticStrategy())) == 1

    def test_respects_its_limit(self):
        chunks = cut("All the same here. " * 500, SemanticStrategy())

        assert all(len(chunk.text) <= 1_000 for chunk in chunks)

    def test_embeds_once(self):
        calls = []

        def embed(windows):
            calls.append(len(windows))
            return by_letters(windows)

        cut("One. Two. Three. Four. Five.", SemanticStrategy(), embed=embed)

        assert calls == [5]

    def test_accepts_zero_vectors(self):
        cut("One. Two. Three.", SemanticStrategy(), embed=lambda windows: np.zeros((3, 4)))

    def test_requires_an_embedding(self):
        with pytest.raises(ValueError, match="needs embed"):
            cut("One. Two.", SemanticStrategy(), embed=None)


class TestLlmStrategy:
    TEXT = "\n\n".join(f"Sentence {n:02} is about birds and rivers." for n in range(20))

    def test_cuts_at_the_boundaries(self):
        boundaries = [self.TEXT.index("Sentence 07"), self.TEXT.index("Sentence 13")]

        chunks = cut(self.TEXT, LlmStrategy(), boundaries=boundaries)

        assert_sound(self.TEXT, chunks)
        assert [chunk.start for chunk in chunks] == [0, *boundaries]

    def test_cuts_a_longer_topic_by_sentences(self):
        boundary = self.TEXT.index("Sentence 15")

        chunks = cut(self.TEXT, LlmStrategy(max_chars=200), boundaries=[boundary])

        assert_sound(self.TEXT, chunks)
        assert boundary in {chunk.start for chunk in chunks}
        assert all(len(chunk.text) <= 200 for chunk in chunks)
        assert all(chunk.text.endswith(".") for chunk in chunks)

    def test_does_not_separate_a_topic_shorter_than_a_fifth_of_its_limit(self):
        boundaries = [self.TEXT.index("Sentence 07"), self.TEXT.index("Sentence 08")]

        chunks = cut(self.TEXT, LlmStrategy(), boundaries=boundaries)

        assert [chunk.start for chunk in chunks] == [0, boundaries[0]]

    def test_cuts_by_sentences_without_boundaries(self):
        by_sentences = cut(self.TEXT, SentenceStrategy(max_chars=300))

        assert cut(self.TEXT, LlmStrategy(max_chars=300)) == by_sentences
