"""Answers as a language model reads them."""

from answers.agent_tools import render_ask
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
