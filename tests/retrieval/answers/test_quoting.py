import numpy as np
import pytest

from retrieval.answers.quoting import MAX_EMBEDDED_SENTENCES, select_quotations
from tests.hashing import HashingEmbedder
from tests.retrieval.answers.making import SPEC, make_context

HARBOUR = (
    "The tide turns at noon every day. Boats leave the harbour before dawn. Gulls follow them out."
)
BAKERY = (
    "Bread is baked at four in the morning. The bakery sells it until noon. Flour comes by rail."
)


@pytest.fixture
def embed():
    embedder = HashingEmbedder(SPEC.embedding)

    def embed(query, texts):
        embed.calls.append(len(texts))
        return embedder.embed_query(query), embedder.embed_documents(texts)

    embed.calls = []
    return embed


def texts_of(quotations):
    return [quotation.sentence.text for quotation in quotations]


class TestQuote:
    def test_takes_the_sentence_that_answers(self, embed):
        contexts = [make_context(1, HARBOUR), make_context(2, BAKERY)]

        found = select_quotations(
            "When do boats leave the harbour?", contexts, max_sentences=1, embed=embed
        )

        assert texts_of(found) == ["Boats leave the harbour before dawn."]

    def test_keeps_the_order_in_which_they_stand(self, embed):
        contexts = [make_context(1, BAKERY), make_context(2, HARBOUR)]

        found = select_quotations("noon tide bakery sells", contexts, max_sentences=2, embed=embed)

        assert [quotation.context.number for quotation in found] == [1, 2]

    def test_returns_the_offsets_of_each_sentence(self, embed):
        contexts = [make_context(1, f"  \n{HARBOUR}")]

        for quotation in select_quotations(
            "tide boats gulls", contexts, max_sentences=3, embed=embed
        ):
            sentence = quotation.sentence
            assert contexts[0].text[sentence.start : sentence.end] == sentence.text

    def test_quotes_no_sentence_twice(self, embed):
        contexts = [make_context(1, HARBOUR), make_context(2, f"{HARBOUR} ")]

        found = texts_of(
            select_quotations("When does the tide turn?", contexts, max_sentences=4, embed=embed)
        )

        assert len(found) == len(set(found))

    def test_leaves_out_what_answers_far_less_well(self, embed):
        contexts = [make_context(1, HARBOUR), make_context(2, BAKERY)]

        found = select_quotations(
            "Boats leave the harbour before dawn.", contexts, max_sentences=6, embed=embed
        )

        assert "Flour comes by rail." not in texts_of(found)

    def test_bounds_what_is_embedded(self, embed):
        many = " ".join(f"Sentence number {n} speaks of boats." for n in range(200))

        select_quotations("boats", [make_context(1, many)], max_sentences=2, embed=embed)

        assert embed.calls == [MAX_EMBEDDED_SENTENCES]

    @pytest.mark.parametrize("text", ["", "   ", "\n\n"])
    def test_embeds_nothing_where_nothing_is_said(self, embed, text):
        assert (
            select_quotations("boats", [make_context(1, text)], max_sentences=2, embed=embed) == []
        )
        assert select_quotations("boats", [], max_sentences=2, embed=embed) == []
        assert embed.calls == []

    def test_takes_a_question_without_words(self, embed):
        assert select_quotations("???", [make_context(1, HARBOUR)], max_sentences=1, embed=embed)


def test_vectors_are_compared_by_cosine(embed):
    query, rows = embed("a", ["a", "b c"])

    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.isclose(np.linalg.norm(query), 1)
