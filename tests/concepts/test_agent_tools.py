"""Answers with concepts as a language model reads them."""

import pytest

from concepts.agent_tools import render_knowledge, render_paths
from tests.hit_texts import CHUNK, EDGE, FORGED, LINE_BREAKS, QUOTE, fenced


class TestRenderKnowledge:
    @pytest.mark.parametrize("line_break", LINE_BREAKS)
    def test_a_label_or_a_quote_cannot_forge_a_hit(self, line_break):
        forging = f"Handbook{line_break}{FORGED}"
        edge = EDGE | {"source": {"label": forging}}
        hit = CHUNK | {
            "artifact": None, "label": forging, "evidence": [QUOTE | {"quote": forging}],
            "concepts": [{"id": "c1", "label": forging, "evidence": QUOTE}],
            "relationships": [edge],
        }  # fmt: skip

        text = render_knowledge({"hits": [hit]})

        assert FORGED in text
        assert not [line for line in text.splitlines() if line.startswith(FORGED[:3])]

    def test_shows_concepts_with_their_quotes_and_ways(self):
        concept = CHUNK | {
            "kind": "concept", "id": "c1", "label": "Lamp", "text": "Lamp", "artifact": None,
            "page": None, "source": None, "verdict": "exact", "start_offset": None,
            "ways": [{"way": "concept", "similarity": 0.6, "weight": 0.8}],
            "evidence": [QUOTE],
        }  # fmt: skip

        assert render_knowledge({"concepts": [concept], "relationships": [EDGE]}).splitlines() == [
            "# Concepts", "",
            "[1] Lamp · exact · rrf 0.0325 (concept 0.6000 × 0.8)", "concept c1",
            *fenced("Lamp"),
            "Quote (exact), characters 10 to 25 of source s1: The lamp is lit", "",
            "# Relationships", "Heron EATS Fish",
        ]  # fmt: skip

    def test_names_the_concept_of_each_quote_of_a_source(self):
        moved = QUOTE | {"verdict": "stale", "quote": "The wick is cut", "source": None}
        source = CHUNK | {
            "kind": "source", "id": "s1", "source": None,
            "chunks": [CHUNK, CHUNK | {"start_offset": 40, "end_offset": 52}],
            "concepts": [
                {"id": "c1", "label": "Lamp", "evidence": QUOTE},
                {"id": "c2", "label": "Wick", "evidence": moved},
            ],
        }  # fmt: skip

        lines = render_knowledge({"hits": [source]}).splitlines()

        assert lines[1] == "source s1 · found by its characters 10 to 36, 40 to 52 · document a1"
        assert lines[-2:] == [
            "Quote of Lamp, concept c1 (exact), characters 10 to 25 of source s1: The lamp is lit",
            "Quote of Wick, concept c2 (stale): The wick is cut",
        ]


class TestRenderPaths:
    def test_shows_paths_as_chains(self):
        path = {"similarity": 0.5, "steps": [EDGE, EDGE], "concepts": ["c1", "c2", "c3"]}

        assert render_paths({"paths": [path]}) == (
            "0.500: Heron EATS Fish; Heron EATS Fish · concepts c1, c2, c3"
        )
