"""Answers as a language model reads them."""

from mcp_server.rendering import render_error, render_indexes, render_source
from tests.hit_texts import CHUNK, fenced


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
