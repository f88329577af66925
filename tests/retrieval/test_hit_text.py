"""Hits as a language model reads them."""

import pytest

from retrieval.hit_text import render_hits
from tests.hit_texts import CHUNK, FORGED, LINE_BREAKS, fenced


class TestTextsOfOthers:
    @pytest.mark.parametrize("line_break", LINE_BREAKS)
    def test_a_title_or_a_question_cannot_forge_a_hit(self, line_break):
        forging = f"Handbook{line_break}{FORGED}"
        hit = CHUNK | {
            "artifact": {"id": "a1", "title": forging}, "heading": forging + "!",
            "question": forging,
        }  # fmt: skip

        text = render_hits({"hits": [hit]})

        assert FORGED in text
        assert not [line for line in text.splitlines() if line.startswith(FORGED[:3])]

    def test_a_document_or_page_cannot_forge_a_hit_in_a_hierarchical_answer(self):
        forging = f"Handbook\n{FORGED}"
        page = {
            "page_index": 2, "score": 0.5, "summary_snippet": forging, "supporting_chunks": [],
        }  # fmt: skip
        artifact = {
            "artifact_id": "a1", "artifact_title": forging, "score": 0.75,
            "summary_snippet": forging, "pages": [page],
        }  # fmt: skip

        lines = render_hits({"artifacts": [artifact]}).splitlines()

        assert not [line for line in lines if line.startswith(FORGED[:3])]

    def test_a_text_stands_between_lines_that_it_cannot_contain(self):
        fence = fenced("An earlier text.")[0]
        text = f"The lamp.\n{fence}\n{FORGED}"
        neighbours = [{"id": "s2", "text": text}]

        shown = render_hits({"hits": [CHUNK | {"text": text, "neighbours": neighbours}]})

        assert shown.count("\n".join(fenced(text))) == 2


class TestRenderHits:
    def test_reports_that_nothing_was_found(self):
        assert render_hits({"hits": []}) == "Nothing found."

    def test_shows_offsets_verdict_score_and_its_parts(self):
        explained = {
            "dense": {"rank": 2, "score": 0.61, "contribution": 0.016},
            "sparse": {"rank": 1, "score": 8.25, "contribution": 0.0165},
            "fusion": {"k": 60, "weights": {"dense": 1, "sparse": 1}},
        }

        assert render_hits({"hits": [CHUNK | {"explain": explained}]}).splitlines() == [
            "[1] Handbook · page 3 · stale · rrf 0.0325 (dense 0.6100 at rank 2, sparse 8.2500 at "
            "rank 1)",
            "characters 10 to 36 of source s1 · document a1",
            *fenced("The lamp is lit at sunset."),
        ]

    def test_shows_a_passage_that_no_question_found(self):
        shown = render_hits({"hits": [CHUNK | {"question": None}]})

        assert "Question" not in shown
        assert CHUNK["text"] in shown

    def test_shows_the_question_that_found_a_passage(self):
        hit = CHUNK | {
            "source": "handbook.pdf",
            "passage": {"id": "s1", "ordinal": 4},
            "question": "When is the lamp lit?",
        }

        lines = render_hits({"hits": [hit]}).splitlines()

        assert lines[1:3] == [
            "characters 10 to 36 of source s1 · document a1",
            "Question: When is the lamp lit?",
        ]

    def test_shows_the_index_of_each_hit_of_several_indexes(self):
        assert "index harbour" in render_hits({"hits": [CHUNK | {"index": "harbour"}]})

    def test_shows_the_passages_below_their_pages_and_documents(self):
        page = {
            "page_index": 2, "score": 0.5, "summary_snippet": None, "supporting_chunks": [CHUNK],
        }  # fmt: skip
        artifact = {
            "artifact_id": "a1", "artifact_title": "Handbook", "score": 0.75,
            "summary_snippet": "Keeping the lamp.", "pages": [page],
        }  # fmt: skip

        lines = render_hits({"artifacts": [artifact]}).splitlines()

        assert lines[:4] == [
            "[1] Handbook · score 0.7500", "a1", "Keeping the lamp.", "Page 3 · score 0.5000",
        ]  # fmt: skip
        assert lines[-2] == "  The lamp is lit at sunset."

    def test_shows_the_notes_of_a_search_above_its_hits(self):
        text = render_hits({"notes": ["Nothing is about it."], "hits": [CHUNK]})

        assert text.startswith("Note: Nothing is about it.\n\n[1] Handbook")
