"""Tell whether a question is in one of the languages that an embedding model reads."""

from collections.abc import Collection
from typing import Final

import regex  # for scripts, which re lacks

from retrieval.questions.words import split_word_set, split_words
from summaries.extractive.languages import STOP_WORD_LANGUAGES, load_stop_words

_LETTER: Final = regex.compile(r"\p{L}")
_LATIN: Final = regex.compile(r"\p{Latin}")
_NOT_ENGLISH: Final = regex.compile(r"(?![A-Za-z])\p{Latin}")
_SPANISH_MARK: Final = regex.compile(r"[¿¡]")
# The list of English stop words also has the codes of countries and some words of other languages.
_SHORT_ENGLISH_WORDS: Final = split_word_set(
    "a am an as at be by do go he i if in is it me my no of on or so to up us we"
)
_NO_ENGLISH_WORDS: Final = split_word_set("que con com")


def is_in_languages(question: str, languages: Collection[str]) -> bool:
    """Whether a question may be in one of these languages (ISO 639-1 codes); no languages mean
    all.

    It is in another language if it has more stop words of that language, if it has no stop word of
    these languages and most of its letters are of another script, or if it has letters or marks
    that English lacks. A few key words without any of that may be in any language.
    """
    if not languages:
        return True
    words = {word.text.lower() for word in split_words(question)}
    hits = {language: _count_stop_words(words, language) for language in STOP_WORD_LANGUAGES}
    read = max(hits[language] for language in languages)
    other = max((hits[language] for language in hits if language not in languages), default=0)
    if other > read or (_SPANISH_MARK.search(question) and "es" not in languages):
        return False
    if read:
        return True
    letter_count = len(_LETTER.findall(question))
    if letter_count and 2 * len(_LATIN.findall(question)) <= letter_count:
        return False
    return "en" not in languages or not _NOT_ENGLISH.search(question)


def load_stop_word_lists() -> None:
    """Load the stop words of all languages, which takes a moment."""
    for language in STOP_WORD_LANGUAGES:
        load_stop_words(language)


def _count_stop_words(words: Collection[str], language: str) -> int:
    stops = load_stop_words(language)
    if language != "en":
        return sum(word in stops for word in words)
    return sum(
        word in stops
        and (len(word) > 2 or word in _SHORT_ENGLISH_WORDS)
        and word not in _NO_ENGLISH_WORDS
        for word in words
    )
