import pytest

from tests.text.texts import ENGLISH, GERMAN, RUSSIAN
from text.languages import (
    STOP_WORD_LANGUAGES,
    guess_language,
    load_stop_words,
)


class TestGuessLanguage:
    @pytest.mark.parametrize(
        ("text", "language"), [(ENGLISH, "en"), (GERMAN, "de"), (RUSSIAN, "ru")]
    )
    @pytest.mark.parametrize("expected", ["en", "fr", "xx"])
    def test_counts_stop_words(self, text, language, expected):
        assert guess_language(text, expected) == language

    @pytest.mark.parametrize("text", ["", "Vastus medialis", "in die", "12 😀"])
    def test_returns_the_expected_language_if_the_words_do_not_decide(self, text):
        assert guess_language(text, "it") == "it"


class TestLanguages:
    @pytest.mark.parametrize("language", STOP_WORD_LANGUAGES)
    def test_have_stop_word_lists(self, language, capsys):
        load_stop_words.cache_clear()

        assert len(load_stop_words(language)) > 30
        assert capsys.readouterr().out == ""
