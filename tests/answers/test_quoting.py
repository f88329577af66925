import numpy as np
import pytest

from answers import quoting
from answers.quoting import (
    MAX_EMBEDDED_SENTENCES,
    find_table_rows,
    is_heading,
    join_wrapped_lines,
)
from indexing.stores import get_bm25_encoder
from tests.answers.making import SPEC, make_context
from tests.hashing import HashingEmbedder
from text.quotable_sentences import MAX_SENTENCE_CHARS, find_quotable_sentences

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


def select_quotations(query, contexts, **given):
    encoder = get_bm25_encoder(SPEC.sparse)
    return quoting.select_quotations(query, contexts, encoder=encoder, **given)


def texts_of(quotations):
    return [quotation.sentence.text for quotation in quotations]


class TestSelectQuotations:
    def test_selects_the_answering_sentence(self, embed):
        contexts = [make_context(1, HARBOUR), make_context(2, BAKERY)]

        found = select_quotations(
            "When do boats leave the harbour?", contexts, max_sentences=1, embed=embed
        )

        assert texts_of(found) == ["Boats leave the harbour before dawn."]

    def test_begins_with_the_best_answering_sentence(self, embed):
        contexts = [make_context(1, BAKERY), make_context(2, HARBOUR)]

        found = select_quotations(
            "boats leave the harbour before dawn", contexts, max_sentences=4, embed=embed
        )

        assert texts_of(found)[0] == "Boats leave the harbour before dawn."

    def test_considers_the_text_before_a_sentence(self, embed):
        """The pronoun stands for the lamp, which only the heading names."""
        storm = "Mary was in charge. She kept it burning all night."
        oil = "The lamp was burning oil. It was filled by hand."
        contexts = [
            make_context(1, oil, heading="Fuel", similarity=0.5),
            make_context(2, storm, heading="The lamp in the great storm", similarity=0.5),
        ]

        found = select_quotations(
            "How was the lamp kept burning in the great storm?",
            contexts,
            max_sentences=1,
            embed=embed,
        )

        assert texts_of(found) == ["She kept it burning all night."]

    def test_prefers_a_sentence_with_the_requested_kind_of_answer(self, embed):
        text = "The tower is tall and white. The tower is thirty metres tall."

        found = select_quotations(
            "How tall is the tower?", [make_context(1, text)], max_sentences=1, embed=embed
        )

        assert texts_of(found) == ["The tower is thirty metres tall."]

    def test_quotes_nothing_if_no_sentence_answers(self, embed):
        contexts = [make_context(1, HARBOUR), make_context(2, BAKERY)]

        found = select_quotations(
            "Which salary did the keeper earn?", contexts, max_sentences=4, embed=embed
        )

        assert found == []

    def test_quotes_no_heading_and_no_table(self, embed):
        text = "Boats of the harbour 7\nBoats of the harbour\nName | Boats | Harbour"
        context = make_context(1, text, artifact_title="Boats of the harbour")

        assert (
            select_quotations("boats of the harbour", [context], max_sentences=2, embed=embed) == []
        )

    def test_quotes_no_heading_with_a_colon(self, embed):
        text = "When boats leave the harbour:\n\nBoats leave the harbour before dawn."
        context = make_context(1, text)

        found = select_quotations(
            "when do boats leave the harbour", [context], max_sentences=2, embed=embed
        )

        assert texts_of(found) == ["Boats leave the harbour before dawn."]

    def test_returns_the_offsets_of_each_sentence(self, embed):
        contexts = [make_context(1, f"  \n{HARBOUR}")]

        for quotation in select_quotations(
            "when does the tide turn at noon?", contexts, max_sentences=3, embed=embed
        ):
            sentence = quotation.sentence
            assert contexts[0].text[sentence.start : sentence.end] == sentence.text

    def test_quotes_no_sentence_twice(self, embed):
        contexts = [make_context(1, HARBOUR), make_context(2, f"{HARBOUR} ")]

        found = texts_of(
            select_quotations("When does the tide turn?", contexts, max_sentences=4, embed=embed)
        )

        assert len(found) == len(set(found))

    def test_leaves_out_sentences_that_answer_much_worse(self, embed):
        contexts = [make_context(1, HARBOUR), make_context(2, BAKERY)]

        found = select_quotations(
            "Boats leave the harbour before dawn.", contexts, max_sentences=6, embed=embed
        )

        assert "Flour comes by rail." not in texts_of(found)

    def test_limits_the_number_of_embedded_sentences(self, embed):
        many = " ".join(f"Sentence number {n} speaks of boats." for n in range(200))

        select_quotations("boats", [make_context(1, many)], max_sentences=2, embed=embed)

        assert embed.calls == [MAX_EMBEDDED_SENTENCES]

    @pytest.mark.parametrize("text", ["", "   ", "\n\n"])
    def test_embeds_nothing_without_text(self, embed, text):
        assert (
            select_quotations("boats", [make_context(1, text)], max_sentences=2, embed=embed) == []
        )
        assert select_quotations("boats", [], max_sentences=2, embed=embed) == []
        assert embed.calls == []

    def test_accepts_a_question_without_words(self, embed):
        assert (
            select_quotations("???", [make_context(1, HARBOUR)], max_sentences=1, embed=embed) == []
        )


class TestIsHeading:
    @pytest.mark.parametrize("text", ["The Great Storm", "THE GREAT STORM", "A Light, 6", "Light"])
    def test_is_true_for_headings_and_running_heads(self, text):
        assert is_heading(text, ["A Light", "The great storm"])

    @pytest.mark.parametrize("text", ["The great storm.", "The great storm came", "5 metres"])
    def test_is_false_for_sentences_and_measures(self, text):
        assert not is_heading(text, ["A Light", "The great storm"])


class TestJoinWrappedLines:
    def joined(self, text):
        found = join_wrapped_lines(text, find_quotable_sentences(text))
        assert all(text[each.start : each.end] == each.text for each in found)
        return [each.text for each in found]

    def test_joins_a_line_that_ends_before_a_name(self):
        text = "The lamp was lit for the first time on an evening by\nLiv, who was eight years old."

        assert self.joined(text) == [text]

    def test_joins_no_heading_to_what_follows(self):
        text = (
            "The lamp goes out\n"
            "The light burned oil until the end of the century was near.\n"
            "It stopped then, and nobody ever said why it had to."
        )

        assert self.joined(text)[0] == "The lamp goes out"


def test_vectors_are_compared_by_cosine(embed):
    query, rows = embed("a", ["a", "b c"])

    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.isclose(np.linalg.norm(query), 1)


TABLE = """| Ferry | Leaves | Port |
| --- | --- | --- |
| Ven | at noon | Landskrona |
| Hven Express | at dawn | Copenhagen |

The crew rests."""


class TestFindTableRows:
    def test_finds_rows_with_the_names_of_their_columns(self):
        rows = find_table_rows(TABLE)

        assert [(header, row.text) for header, row in rows] == [
            ("Ferry | Leaves | Port", "Ven | at noon | Landskrona"),
            ("Ferry | Leaves | Port", "Hven Express | at dawn | Copenhagen"),
        ]
        assert all(TABLE[row.start : row.end] == row.text for _, row in rows)

    def test_truncates_long_rows(self):
        [(_, row)] = find_table_rows(f"Ferry | Notes\nVen | {'noon ' * 200}")

        assert len(row.text) <= MAX_SENTENCE_CHARS
        assert row.text.startswith("Ven | noon")

    def test_finds_rows_of_cells_without_outer_marks(self):
        rows = find_table_rows("Ferry | Leaves\nVen | noon\n\nOne | alone")

        assert [row.text for _, row in rows] == ["Ven | noon"]


class TestTableRows:
    def test_are_quoted(self, embed):
        context = make_context(1, TABLE, similarity=0.6)

        found = select_quotations(
            "From which port does the ferry Hven Express leave?", [context],
            max_sentences=1, embed=embed,
        )  # fmt: skip

        assert texts_of(found) == ["Hven Express | at dawn | Copenhagen"]

    def test_are_not_quoted_where_a_sentence_answers(self, embed):
        said = "The ferry Hven Express leaves from the port Copenhagen."
        context = make_context(1, f"{TABLE}\n\n{said}", similarity=0.6)

        found = select_quotations(
            "From which port does the ferry Hven Express leave?", [context],
            max_sentences=4, embed=embed,
        )  # fmt: skip

        assert texts_of(found) == [said]
