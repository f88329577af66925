"""Guess the language of a text from its stop words."""

from collections import Counter
from functools import lru_cache

import regex  # for Unicode properties, which re lacks

# Code (ISO 639-1) -> the list of stop words; languages with spaces between words.
STOP_WORD_LANGUAGES = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "cs": "czech", "da": "danish",
    "de": "german", "el": "greek", "en": "english", "es": "spanish", "fa": "persian",
    "fi": "finnish", "fr": "french", "he": "hebrew", "hi": "hindi", "hu": "hungarian",
    "id": "indonesian", "it": "italian", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sk": "slovak", "sv": "swedish",
    "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese",
}  # fmt: skip

MIN_STOP_WORDS = 4  # stop words that a language other than the expected one needs
MIN_LEAD_RATIO = 1.5  # required ratio to the stop words of the expected language
MAX_CHARS_SAMPLED = 2_000  # per text
CLEAR_SHARE = 0.8  # of the letters in one script

_WORD = regex.compile(r"[\p{L}\p{M}]++")
_LETTER = regex.compile(r"\p{L}")
_LATIN_LETTER = regex.compile(r"\p{Latin}")


def guess_language(text: str, expected: str) -> str:
    """Return the language with the most stop words in the text, or ``expected`` unless another is
    well ahead.

    Source:
        Counting function words: Grefenstette, "Comparing two language identification schemes",
        JADT 1995.
    """
    words = Counter(_WORD.findall(text[:MAX_CHARS_SAMPLED].lower()))
    hits: Counter[str] = Counter()
    for word, count in words.items():
        for language in find_languages_of_stop_word(word):
            hits[language] += count
    if not hits:
        return expected
    best = max(hits, key=hits.__getitem__)
    if hits[best] >= MIN_STOP_WORDS and hits[best] >= MIN_LEAD_RATIO * hits[expected]:
        return best
    return expected


def uses_latin_letters(text: str) -> bool | None:
    """None: the text has no letters, or those of several scripts."""
    sample = text[:MAX_CHARS_SAMPLED]
    letter_count = len(_LETTER.findall(sample))
    latin_count = len(_LATIN_LETTER.findall(sample))
    if latin_count > CLEAR_SHARE * letter_count:
        return True
    return False if latin_count < (1 - CLEAR_SHARE) * letter_count else None


def find_languages_of_stop_word(word: str) -> tuple[str, ...]:
    """The languages of which this word in lower case is a stop word."""
    return load_stop_word_lists().get(word, ())


@lru_cache(maxsize=1)
def load_stop_word_lists() -> dict[str, tuple[str, ...]]:
    """Load the stop words of all languages, which takes a moment: each with its languages."""
    languages: dict[str, list[str]] = {}
    for language in STOP_WORD_LANGUAGES:
        for word in load_stop_words(language):
            languages.setdefault(word, []).append(language)
    return {word: tuple(those) for word, those in languages.items()}


@lru_cache(maxsize=64)
def load_stop_words(language: str) -> frozenset[str]:
    """The stop words of a language in lower case; empty for an unknown language."""
    if language not in STOP_WORD_LANGUAGES:
        return frozenset()
    from stop_words import get_stop_words

    return frozenset(word.lower() for word in get_stop_words(STOP_WORD_LANGUAGES[language])) - {""}
