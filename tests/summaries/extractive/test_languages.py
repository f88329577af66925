import pytest

from summaries.extractive.languages import (
    STOP_WORD_LANGUAGES,
    guess_language,
    load_stop_words,
)
from tests.summaries.extractive.texts import ENGLISH, GERMAN, RUSSIAN


class TestGuessLanguage:
    @pytest.mark.parametrize(
        ("text", "language"), [(ENGLISH, "en"), (GERMAN, "de"), (RUSSIAN, "ru")]
    )
    @pytest.mark.parametrize("expected", ["en", "fr", "xx"])
    def test_goes_by_the_stop_words(self, text, language, expected):
        assert guess_language(text, expected) == language

    @pytest.mark.parametrize("text", ["", "Vastus medialis", "in die", "12 😀"])
    def test_is_what_was_expected_where_the_words_do_not_tell(self, text):
        assert guess_language(text, "it") == "it"


class TestLanguages:
    @pytest.mark.parametrize("language", STOP_WORD_LANGUAGES)
    def test_have_stop_words_that_can_be_read(self, language, capsys):
        load_stop_words.cache_clear()

        assert len(load_stop_words(language)) > 30
        assert capsys.readouterr().out == ""
