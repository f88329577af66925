from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing.spec import EmbeddingSpec
from summaries.extractive import summarise_texts
from summaries.extractive.summarising import MAX_EMBEDDED_SENTENCES, EmbedFunction
from tests.hashing import HashingEmbedder
from tests.text.texts import (
    CHINESE,
    ENDLESS,
    ENGLISH,
    EVERY_TEXT,
    REPEATED,
    THAI,
)
from text.quotable_sentences import LocatedSentence

HASHING = HashingEmbedder(EmbeddingSpec())

SENTENCES = st.lists(
    st.sampled_from([*EVERY_TEXT.values(), "One two three four five.", "A", "12", " ", "\n\n"])
    | st.text(max_size=60),
    max_size=8,
)
TEXTS = SENTENCES.map(" ".join) | SENTENCES.map("\n".join)


@pytest.fixture
def embedder():
    return HashingEmbedder(EmbeddingSpec())


def summarise_text(
    text: str, *, sentence_count: int, embed: EmbedFunction
) -> list[LocatedSentence]:
    return summarise_texts([text], sentence_count=sentence_count, embed=embed)[0]


class TestSummariseText:
    @given(TEXTS, st.integers(1, 5))
    def test_quotes_distinct_sentences_in_reading_order_up_to_the_count(self, text, count):
        summary = summarise_text(text, sentence_count=count, embed=HASHING.embed_documents)

        assert len(summary) <= count
        assert bool(summary) == bool(text.strip())
        assert all(text[each.start : each.end] == each.text for each in summary)
        assert all(one.end <= two.start for one, two in pairwise(summary))
        assert len({" ".join(each.text.casefold().split()) for each in summary}) == len(summary)

    def test_selects_sentences_on_the_main_subject(self, embedder):
        aside = "My aunt once bought seventeen umbrellas."
        text = f"{aside} {ENGLISH} {ENGLISH.replace('The hip', 'Strong hip')}"

        summary = summarise_text(text, sentence_count=3, embed=embedder.embed_documents)

        assert aside not in [sentence.text for sentence in summary]
        assert any("hip flexors" in sentence.text for sentence in summary)

    def test_returns_a_short_text_whole(self, embedder):
        summary = summarise_text(ENGLISH, sentence_count=10, embed=embedder.embed_documents)

        assert " ".join(sentence.text for sentence in summary) == ENGLISH

    def test_leaves_out_repetitions_in_a_short_text(self, embedder):
        text = "Keep your back straight now. Now keep your back straight! Bend both of the knees."

        summary = summarise_text(text, sentence_count=5, embed=embedder.embed_documents)

        assert [sentence.text for sentence in summary] == [
            "Keep your back straight now.",
            "Bend both of the knees.",
        ]

    def test_quotes_a_repeated_line_once(self, embedder):
        [sentence] = summarise_text(REPEATED, sentence_count=3, embed=embedder.embed_documents)

        assert (sentence.start, sentence.end) == (0, len("Keep the back straight while lifting."))
        assert len(embedder.embedded) == 1

    @pytest.mark.parametrize("text", [CHINESE, THAI], ids=["chinese", "thai"])
    def test_finds_the_sentences_of_other_scripts(self, text, embedder):
        assert len(summarise_text(text, sentence_count=5, embed=embedder.embed_documents)) == 2

    def test_cuts_a_text_without_stops(self, embedder):
        [sentence] = summarise_text(ENDLESS, sentence_count=3, embed=embedder.embed_documents)

        assert ENDLESS.startswith(sentence.text)
        assert len(sentence.text) <= 400

    def test_embeds_an_evenly_spaced_sample_of_a_long_text(self, embedder):
        sentences = [f"Sentence number {n} speaks of topic{n} alone." for n in range(1_000)]

        summarise_text(" ".join(sentences), sentence_count=3, embed=embedder.embed_documents)

        assert embedder.embedded == sentences[:: 1_000 // MAX_EMBEDDED_SENTENCES]

    @pytest.mark.parametrize("text", ["", "  \n\t "])
    def test_embeds_nothing_for_a_blank_text(self, text, embedder):
        assert summarise_text(text, sentence_count=3, embed=embedder.embed_documents) == []
        assert embedder.embedded == []


class TestSummariseTexts:
    @given(st.lists(TEXTS, max_size=4))
    def test_summarises_each_text_as_if_it_were_alone(self, texts):
        together = summarise_texts(texts, sentence_count=2, embed=HASHING.embed_documents)

        alone = [
            summarise_text(each, sentence_count=2, embed=HASHING.embed_documents) for each in texts
        ]
        assert together == alone

    def test_embeds_all_texts_at_once(self, embedder):
        calls = []

        def embed(texts):
            calls.append(len(texts))
            return embedder.embed_documents(texts)

        summarise_texts([ENGLISH, "", CHINESE], sentence_count=2, embed=embed)

        assert calls == [4 + 2]
