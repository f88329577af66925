"""Which language a text is in, as far as its commonest words tell."""

from collections import Counter
from functools import lru_cache

import regex  # for scripts and Unicode properties, which re lacks

from summaries.extractive.sentences import UNSPACED

# Code (ISO 639-1) -> the list of stop words; languages with spaces between words.
LANGUAGES = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "cs": "czech", "da": "danish",
    "de": "german", "el": "greek", "en": "english", "es": "spanish", "fa": "persian",
    "fi": "finnish", "fr": "french", "he": "hebrew", "hi": "hindi", "hu": "hungarian",
    "id": "indonesian", "it": "italian", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sk": "slovak", "sv": "swedish",
    "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese",
}  # fmt: skip

MIN_STOP_WORDS = 4  # in another language than the expected one, before it is believed
LEAD = 1.5  # times as many as in the expected language
MAX_CHARS = 2_000  # of a text that are looked at

_WORD = regex.compile(r"[\p{L}\p{M}]++")
_LETTER = regex.compile(r"\p{L}")
_UNSPACED_LETTER = regex.compile(rf"[[\p{{L}}]&&[{UNSPACED}]]", regex.VERSION1)


def guess_language(text: str, expected: str) -> str:
    """The language most of its stop words are from; ``expected`` unless another is well ahead.

    Source:
        Counting function words: Grefenstette, "Comparing two language identification schemes",
        JADT 1995.
    """
    words = Counter(_WORD.findall(text[:MAX_CHARS].lower()))
    hits: Counter[str] = Counter()
    for word, count in words.items():
        for language in _languages_of_words().get(word, ()):
            hits[language] += count
    if not hits:
        return expected
    best = max(hits, key=hits.__getitem__)
    if hits[best] >= MIN_STOP_WORDS and hits[best] >= LEAD * hits[expected]:
        return best
    return expected


def is_unspaced(text: str) -> bool:
    """Whether most of its letters are of scripts that put no space between words."""
    start = text[:MAX_CHARS]
    return 2 * len(_UNSPACED_LETTER.findall(start)) > len(_LETTER.findall(start))


@lru_cache(maxsize=1)
def _languages_of_words() -> dict[str, tuple[str, ...]]:

    languages: dict[str, list[str]] = {}
    for language in LANGUAGES:
        for word in stop_words(language):
            languages.setdefault(word, []).append(language)
    return {word: tuple(those) for word, those in languages.items()}


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """In small letters; none for a language that is not known."""
    if language not in LANGUAGES:
        return frozenset()
    from stop_words import get_stop_words

    return frozenset(word.lower() for word in get_stop_words(LANGUAGES[language])) - {""}
