import numpy as np
import pytest

from indexing.sparse_vectors import encode_sparse_query
from indexing.spec import EmbeddingSpec, SparseSpec
from retrieval.retrievers import ChunkRetriever
from retrieval.search.long_queries import (
    MAX_PARTS,
    embed_by_parts,
    encode_terms,
    find_question,
    is_too_long,
)
from tests.factories import give, sync

ENVELOPE = "The process was started and its working directory was set, and its output recorded. "
QUESTION = "When does the last ferry leave?"


class CountingEmbedder:
    """A window of 16 words, and a vector of one dimension for each of two words."""

    spec = EmbeddingSpec(model="counting", dimension=8, window=16)

    def __init__(self):
        self.embedded = []

    def count_tokens(self, texts, *, as_queries=False):
        return [len(text.split()) for text in texts]

    def embed_queries(self, texts):
        self.embedded = list(texts)
        return np.array([[text.count("process"), text.count("ferry"), 0.1] for text in texts])


def test_a_query_that_fits_is_not_counted():
    assert not is_too_long(CountingEmbedder(), "a few words")
    assert is_too_long(CountingEmbedder(), "word " * 17)


def test_every_part_fits_the_window_and_what_is_repeated_is_read_once():
    embedder = CountingEmbedder()

    embed_by_parts(embedder, ENVELOPE * 30 + QUESTION)

    assert embedder.embedded == [ENVELOPE.strip(), QUESTION, QUESTION]


def test_of_many_parts_the_first_and_the_last_are_embedded():
    embedder = CountingEmbedder()

    embed_by_parts(embedder, " ".join(f"Process {n}. " + "word " * 14 + "." for n in range(50)))

    assert len(embedder.embedded) == MAX_PARTS + 1
    assert "Process 0." in embedder.embedded[0]
    assert "Process 49." in embedder.embedded[-2]


@pytest.mark.parametrize("query", [ENVELOPE * 20 + QUESTION, QUESTION + " " + ENVELOPE * 20])
def test_the_question_counts_more_than_the_text_around_it(query):
    process, ferry, _ = embed_by_parts(CountingEmbedder(), query)

    assert ferry > process > 0
    spec = SparseSpec()
    weights = dict(zip(*_terms(encode_terms(spec, query)), strict=True))
    asked = set(encode_terms(spec, QUESTION).indices) & weights.keys()
    assert min(weights[term] for term in asked) > max(
        weight for term, weight in weights.items() if term not in asked
    )


@pytest.mark.parametrize(
    "query",
    [
        f"{QUESTION}\nid;name;status\n" + "1;process;exit\n" * 70,
        f"{QUESTION} 1;process;exit\n" + "1;process;exit\n" * 70,
        "process started\nexit recorded\n" * 40 + QUESTION,
        "process started\nexit recorded\n" * 40 + QUESTION.lower(),
        ENVELOPE * 10 + QUESTION + " " + ENVELOPE * 10,
        f"({QUESTION}) process exited\n" + "process started\n" * 80,
    ],
)
def test_a_question_is_found_in_every_kind_of_pasted_text(query):
    embedder = CountingEmbedder()

    embed_by_parts(embedder, query)

    assert embedder.embedded[-1].strip("()").lower() == QUESTION.lower()
    assert encode_terms(SparseSpec(), query, has_vector=True) == encode_sparse_query(
        SparseSpec(), QUESTION
    )


def test_words_of_the_text_are_looked_for_where_the_question_has_but_one():
    query = ENVELOPE * 20 + "What records?"

    terms = encode_terms(SparseSpec(), query, has_vector=True)

    assert len(terms.indices) > 1
    assert find_question(query) == "What records?"
    assert find_question(ENVELOPE * 20) == find_question(QUESTION) == ""


TRACE = "Tide table not found\n" + "process exited\n" * 80 + "The gauge is offline\n"


@pytest.mark.parametrize(
    "question", ["How do I fix this?", "Was bedeutet dieser Fehler?", "What should I do?"]
)
@pytest.mark.parametrize("pasted", [TRACE + "{}", "{}\n" + TRACE])
def test_a_question_about_the_text_is_asked_with_its_first_and_last_line(question, pasted):
    query = pasted.format(question)

    assert find_question(query) == f"{question} Tide table not found The gauge is offline"
    terms = encode_terms(SparseSpec(), query, has_vector=True)
    own = encode_sparse_query(SparseSpec(), "tide, gauge").indices
    assert len(own) == len(set(own).intersection(terms.indices)) == 2


@pytest.mark.parametrize(
    "question",
    [
        QUESTION,
        "When is the ferry?",
        "渡轮几点开?",
        "When does this late night ferry sail?",
    ],
)
def test_another_question_is_asked_without_them(question):
    assert find_question(TRACE + question) == question


def test_a_short_query_has_its_terms_as_they_are():
    assert encode_terms(SparseSpec(), QUESTION) == encode_sparse_query(SparseSpec(), QUESTION)


def test_an_answer_says_that_the_query_was_read_by_its_parts(build):
    ferry = give("The last ferry leaves at 21:40.")
    sync(build, ferry, give("A process was started and its output recorded."))

    answer = ChunkRetriever("plain").search(ENVELOPE * 60 + QUESTION)

    assert answer.hits[0].payload["artifact_id"] == str(ferry.pk)
    assert any("searched by its parts" in note for note in answer.notes)


def test_a_note_says_that_a_query_has_no_word_that_is_searched(build):
    sync(build, give("The last ferry."))

    assert "Nothing was searched" in ChunkRetriever("plain", mode="sparse").search("?!").notes[0]
    assert "meaning only" in ChunkRetriever("plain").search("?!").notes[0]


def _terms(vector):
    return vector.indices, vector.values
