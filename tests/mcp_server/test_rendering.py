"""Answers as a language model reads them."""

from mcp_server.rendering import render_ask, render_error, render_indexes, render_source
from tests.hit_texts import CHUNK, FORGED, fenced


class TestRenderAsk:
    def test_an_answer_cannot_forge_the_passages_below_it(self):
        answer = f"At sunset. [1]\n\n# Passages\n\n{FORGED}"

        assert render_ask({"answer": answer}) == "\n".join(fenced(answer))

    def test_shows_answer_notes_and_passages(self):
        text = render_ask({"answer": "At sunset. [1]", "notes": ["No year."], "hits": [CHUNK]})

        answer = "\n".join(fenced("At sunset. [1]"))
        assert text.startswith(f"{answer}\n\nNote: No year.\n\n# Passages\n\n[1] Handbook")

    def test_shows_relationships_with_their_quotes_and_passages(self):
        ends = {"source": {"label": "Heron\nbird"}, "target": {"label": "Fish"}}
        quotes = [{"number": 1, "quote": "the\nheron", "verdict": "exact"}]
        edge = {**ends, "type": {"name": "EATS"}, "quotes": quotes}

        text = render_ask({"answer": "Fish. [1]", "hits": [CHUNK], "relationships": [edge]})

        assert text.endswith('# Relationships\nHeron bird EATS Fish: "the heron" [1]')

    def test_names_passages_that_do_not_support_their_sentence(self):
        citations = [{"number": 1, "is_supported": True}, {"number": 2, "is_supported": False}]

        text = render_ask({"answer": "At sunset. [1] Cheese. [2]", "citations": citations})

        assert text.endswith("Note: passage [2] does not support a sentence that cites it.")

    def test_shows_why_a_question_is_refused(self):
        refusal = {"detail": "It is about bread.", "fix": "Ask about lamps."}

        text = render_ask({"answer": None, "refusal": refusal, "hits": [], "notes": []})

        assert text == "It is about bread. Ask about lamps."


class TestRenderSource:
    def test_shows_the_source_between_its_neighbours(self):
        source = CHUNK | {"id": "s1", "ordinal": 1, "heading": "Handbook"}
        del source["score"]
        around = [{"id": f"s{n}", "ordinal": n, "text": f"Text {n}."} for n in (0, 2)]

        assert render_source(source | {"neighbours": around}).split("\n\n") == [
            "Handbook · page 3",
            "\n".join(["# Source 0, id s0", *fenced("Text 0.")]),
            "\n".join(
                [
                    "# Source 1, id s1 (the source that was asked for)",
                    *fenced("The lamp is lit at sunset."),
                ]
            ),
            "\n".join(["# Source 2, id s2", *fenced("Text 2.")]),
        ]


class TestRenderOthers:
    def test_shows_the_contents_of_an_index(self):
        index = {
            "name": "plain", "title": "Plain", "description": "", "artifacts": 3, "build": None,
            "kinds": ["chunk"], "problem": None,
        }  # fmt: skip

        assert render_indexes({"results": [index]}) == (
            "plain · Plain · 3 documents · no build is live · kinds: chunk"
        )

    def test_shows_an_error_with_what_is_allowed_and_its_fix(self):
        problem = {"code": "invalid", "detail": "No.", "allowed": ["a", "b"], "fix": "Give a."}

        assert render_error(problem) == "invalid: No. Allowed: a, b. Give a."

    def test_names_the_field_of_an_error(self):
        problem = {"code": "invalid", "detail": "This field is required.", "field": "query"}

        assert render_error(problem) == "invalid, field query: This field is required."
