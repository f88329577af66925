import json

import pytest

from answers.questions.follow_ups import MAX_QUESTION_CHARS, rewrite_follow_up
from strata_types import Turn
from tests.language_models.test_llm import Endpoint, endpoint, fails, says

__all__ = ["endpoint"]  # a fixture

TURNS = [Turn(question="When do boats leave?", answer="Before dawn [1].")]


class TestRewriteFollowUp:
    def test_needs_a_language_model(self):
        question, [note] = rewrite_follow_up("And in winter?", TURNS)

        assert question == "And in winter?"
        assert "none is configured" in note

    @pytest.mark.parametrize(
        ("written", "question"),
        [
            ("When do boats leave  in winter?", "When do boats leave in winter?"),
            (" ", "And in winter?"),
            ("w" * 3_000, "w" * MAX_QUESTION_CHARS),
            (f"When --- {'a' * 24} ---", "When"),
        ],
    )
    def test_returns_what_the_model_writes(self, endpoint: Endpoint, written, question):
        endpoint.scripts = [says(json.dumps({"question": written}))]

        assert rewrite_follow_up("And in winter?", TURNS) == (question, ())

    def test_shows_the_model_the_whole_conversation_in_a_bounded_prompt(self, endpoint: Endpoint):
        endpoint.scripts = [says(json.dumps({"question": "When?"}))]
        turns = [Turn(question=f"Question {n}?", answer="long " * 5_000) for n in range(10)]

        rewrite_follow_up("And in winter?", turns)

        prompt = endpoint.requests[0].body["messages"][1]["content"]
        assert all(f"Question {number}?" in prompt for number in range(10))
        assert len(prompt) < 9_000

    def test_keeps_the_question_if_the_model_fails(self, endpoint: Endpoint):
        endpoint.scripts = [fails(400)]

        question, [note] = rewrite_follow_up("And in winter?", TURNS)

        assert question == "And in winter?"
        assert "the language model did not answer" in note

    def test_keeps_a_question_that_is_too_long_to_be_rewritten(self, endpoint: Endpoint):
        question, [note] = rewrite_follow_up("w" * (MAX_QUESTION_CHARS + 1), TURNS)

        assert question == "w" * (MAX_QUESTION_CHARS + 1)
        assert "longer than 2,000 characters" in note
        assert endpoint.requests == []
