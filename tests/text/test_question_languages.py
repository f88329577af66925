from pathlib import Path

import pytest
import yaml

from text.question_languages import is_in_languages

QUESTIONS = yaml.safe_load(
    (Path(__file__).parents[1] / "answers" / "questions" / "relevance.yaml").read_text(
        encoding="utf-8"
    )
)


def questions_in(language: str) -> list[str]:
    return [
        question
        for languages in QUESTIONS.values()
        for questions in languages[language].values()
        for question in questions
    ]


class TestIsInLanguages:
    def test_is_true_for_every_english_question(self):
        assert [q for q in questions_in("en") if not is_in_languages(q, ["en"])] == []

    @pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
    def test_is_false_for_most_questions_in_other_languages(self, language):
        questions = questions_in(language)

        wrong = [question for question in questions if is_in_languages(question, ["en"])]

        assert len(wrong) <= 0.05 * len(questions)

    @pytest.mark.parametrize(
        "question",
        [
            "Was ist maschinelle Übersetzung?",
            "¿Qué es la traducción automática?",
            "披萨",
            "über Äpfel",
        ],
    )
    def test_is_false_for_languages_that_the_model_does_not_read(self, question):
        assert not is_in_languages(question, ["en"])
        assert is_in_languages(question, [])

    @pytest.mark.parametrize("question", ["BLEU", "parsing morphologically rich languages", "???"])
    def test_is_true_for_key_words(self, question):
        assert is_in_languages(question, ["en"])

    def test_accepts_several_languages(self):
        assert is_in_languages("Was ist maschinelle Übersetzung?", ["en", "de"])
        assert not is_in_languages("¿Qué es la traducción?", ["en", "de"])
