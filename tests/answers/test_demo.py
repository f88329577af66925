"""Answers from the demo's history of the station, with the real model."""

import re

import pytest

from answers.quoting import select_quotations
from demo.writing.history import CHAPTERS, TITLE
from indexing import embedding
from indexing.stores import get_bm25_encoder
from tests.answers.making import SPEC, make_context


@pytest.fixture(scope="module")
def embedder():
    return embedding.get_embedder(SPEC.embedding)


@pytest.fixture(scope="module")
def passages(embedder):
    """(heading, text, vector) of each paragraph."""
    texts = [
        (heading, re.sub(r"<[^>]+>", "", paragraph))
        for heading, paragraphs in CHAPTERS
        for paragraph in paragraphs
    ]
    vectors = embedder.embed_documents([f"{heading}\n{text}" for heading, text in texts])
    return [(*text, vector) for text, vector in zip(texts, vectors, strict=True)]


def quote(question, passages, embedder):
    query = embedder.embed_query(question)
    contexts = [
        make_context(
            number, text, artifact_title=TITLE, heading=heading, similarity=float(vector @ query)
        )
        for number, (heading, text, vector) in enumerate(passages, start=1)
    ]
    quoted = select_quotations(
        question,
        contexts,
        max_sentences=4,
        embed=lambda text, texts: (embedder.embed_query(text), embedder.embed_documents(texts)),
        encoder=get_bm25_encoder(SPEC.sparse),
    )
    return [quotation.sentence.text for quotation in quoted]


class TestAnswersFromTheDemo:
    @pytest.mark.parametrize(
        ("question", "said"),
        [
            ("How was the lamp kept burning during the great storm?", "for fifty-two hours"),
            ("How tall is the tower?", "thirty-eight metres high"),
            ("Who was the first principal keeper?", "Aldous Brekke"),
        ],
    )
    def test_begin_with_the_answering_sentence(self, question, said, passages, embedder):
        assert said in quote(question, passages, embedder)[0]

    def test_are_empty_if_no_sentence_answers(self, passages, embedder):
        assert quote("Who repaired the boathouse in 1975?", passages, embedder) == []
