import pytest

from answers.citing import find_citations
from tests.answers.making import make_context

TEXT = "The tide turns at noon. Boats leave the harbour before dawn. Gulls follow them."


@pytest.fixture
def contexts():
    return [make_context(1, TEXT, start_offset=100), make_context(3, "Nobody sails on Sunday.")]


def quoted(answer, cited):
    """(the answer's words, the passage's words) for each citation."""
    texts = {1: (TEXT, 100), 3: ("Nobody sails on Sunday.", 0)}
    pairs = []
    for citation in cited.citations:
        text, offset = texts[citation["number"]]
        words = text[citation["start_offset"] - offset : citation["end_offset"] - offset]
        pairs.append((answer[citation["answer_start"] : citation["answer_end"]], words))
    return pairs


class TestFindCitations:
    def test_cites_the_most_similar_sentence(self, contexts):
        answer = "Boats go out before dawn [1]. On Sunday nobody sails [3]."

        assert quoted(answer, find_citations(answer, contexts)) == [
            ("Boats go out before dawn [1].", "Boats leave the harbour before dawn."),
            ("On Sunday nobody sails [3].", "Nobody sails on Sunday."),
        ]

    @pytest.mark.parametrize(
        "answer",
        [
            "It turns at noon. [1] More.",
            "It turns at noon.[1] More.",
            "It turns [1] at noon. More.",
        ],
    )
    def test_accepts_marks_inside_and_after_a_sentence(self, contexts, answer):
        cited = find_citations(answer, contexts)

        [[said, words]] = quoted(answer, cited)
        assert said.startswith("It turns")
        assert said.rstrip("[1] ").endswith("noon.")
        assert words == "The tide turns at noon."

    @pytest.mark.parametrize("marks", ["[1][3]", "[1, 3]", "[1;3]", "[1] [3]", "[1][3][1]"])
    def test_accepts_several_passages_in_one_sentence(self, contexts, marks):
        cited = find_citations(f"Nobody sails at noon {marks}.", contexts)

        assert [citation["number"] for citation in cited.citations] == [1, 3]

    def test_marks_a_passage_that_does_not_support_the_sentence(self, contexts):
        answer = "The moon is made of green cheese [1]. Boats leave before dawn [1]."

        cited = find_citations(answer, contexts)

        assert [citation["is_supported"] for citation in cited.citations] == [False, True]
        assert quoted(answer, cited)[0][1] == TEXT

    def test_counts_the_words_of_the_passages_title(self):
        context = make_context(1, "It opens at nine.", artifact_title="Harbour museum handbook")

        [citation] = find_citations("See the harbour museum handbook [1].", [context]).citations

        assert citation["is_supported"]

    def test_returns_no_citation_without_a_mark(self, contexts):
        assert find_citations("The tide turns at noon.", contexts).citations == []

    def test_counts_marks_of_unknown_passages(self, contexts):
        cited = find_citations("The tide turns at noon [1][2]. Gulls follow [99].", contexts)

        assert [citation["number"] for citation in cited.citations] == [1]
        assert cited.unknown_marks == 2

    def test_returns_node_source_and_artifact_of_a_citation(self, contexts):
        [citation] = find_citations("Nobody sails [3].", contexts).citations

        payload = contexts[1].passage.hit.payload
        assert citation["node_id"] == contexts[1].passage.id
        assert citation["source_id"] == payload["source_id"]
        assert citation["artifact_id"] == payload["artifact_id"]


@pytest.mark.parametrize("answer", ["", "[1]", "  ", "[1][2]"])
def test_accepts_an_answer_without_words(contexts, answer):
    assert all(c["answer_end"] <= len(answer) for c in find_citations(answer, contexts).citations)
