"""Findings as a language model reads them."""

from typing import Any

import pytest

from evidence.agent_tools import render_findings
from tests.hit_texts import CHUNK, FORGED, LINE_BREAKS, fenced

REFERENCE: dict[str, Any] = {
    "url": "https://two.example/b", "content": "At sunset they light it.", "similarity": 0.9531,
    "citation": {"title": "Again", "source": "A Journal", "date": "Mar 2021"},
    "added_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
NEAR: dict[str, Any] = {
    "artifact_id": "a2", "similarity": 0.9125, "url": "https://three.example/c",
    "content": "The lamp is lit at dawn.",
}  # fmt: skip
FINDING = CHUNK | {
    "score": 0.75, "score_kind": "cosine", "similarity": 0.75, "verdict": "exact",
    "url": "https://one.example/a", "content": "The lamp is lit at sunset.",
    "citation": {"title": "Handbook", "source": "Nature", "date": "2021", "authors": ["A", "B"]},
    "references": [REFERENCE], "similar_to": [NEAR],
}  # fmt: skip


class TestRenderFindings:
    @pytest.mark.parametrize("line_break", LINE_BREAKS)
    def test_a_finding_or_what_repeats_it_cannot_forge_a_hit(self, line_break):
        forging = f"Handbook{line_break}{FORGED}"
        names = ("title", "source", "date")
        citation = {name: f"{name} of {forging}" for name in names} | {"authors": [forging]}
        reference = REFERENCE | {"url": f"https://{forging}", "citation": citation}
        finding = FINDING | {"url": f"https://{forging}", "citation": citation}

        finding |= {"references": [reference], "similar_to": [NEAR | {"url": forging}]}
        lines = render_findings({"hits": [finding]}).splitlines()

        assert sum(line.count(FORGED) for line in lines) == 10
        assert not [line for line in lines if line.startswith(FORGED[:3])]

    def test_the_wording_of_findings_near_it_stands_between_lines_that_it_cannot_contain(self):
        content = {"content": f"At sunset.\n{FORGED}"}
        near = {"references": [REFERENCE | content], "similar_to": [NEAR | content]}

        shown = render_findings({"hits": [FINDING | near]})

        assert shown.count("\n".join(fenced(content["content"]))) == 2

    def test_shows_where_a_finding_comes_from_and_what_repeats_it(self):
        assert render_findings({"hits": [FINDING]}).splitlines() == [
            "[1] Handbook · page 3 · exact · cosine 0.7500 (cosine 0.7500)",
            "characters 10 to 36 of source s1 · document a1",
            "From https://one.example/a · Nature · 2021 · A, B",
            *fenced("The lamp is lit at sunset."),
            "Repeated by https://two.example/b · Again · A Journal · Mar 2021 · cosine 0.9531",
            *fenced("At sunset they light it."),
            "Near it, with other words: https://three.example/c · document a2 · cosine 0.9125",
            *fenced("The lamp is lit at dawn."),
        ]

    def test_shows_the_metadata_of_a_document_that_was_not_added_as_a_finding(self):
        citation = {
            "title": "Handbook",
            "source": ["Nature", "Science"],
            "date": 2021,
            "authors": "A",
        }
        finding = FINDING | {"url": None, "citation": citation, "references": [], "similar_to": []}

        assert "\nFrom Nature, Science · 2021 · A\n" in render_findings({"hits": [finding]})

    def test_shows_some_authors_and_findings_near_it_and_counts_the_others(self):
        citation = {"title": "", "authors": [f"Author {n}" for n in range(12)]}
        finding = FINDING | {
            "citation": citation, "references": [REFERENCE] * 13, "similar_to": [NEAR] * 6,
        }  # fmt: skip

        shown = render_findings({"hits": [finding]})

        assert "Author 9 and 2 others" in shown
        assert shown.count("Repeated by ") == 10
        assert "Repeated 3 more times." in shown
        assert shown.count("Near it, with other words: http") == 5
        assert "Near it, with other words: 1 more." in shown
