"""Whether a question may be in a language: of a few words, less is certain than of a text."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import regex  # for scripts, which re lacks

from text.languages import STOP_WORD_LANGUAGES, find_languages_of_stop_word
from text.words import split_word_set, split_words

_LETTER: Final = regex.compile(r"\p{L}")
_WHOLE_WORD: Final = regex.compile(r"(?<![\w-])[\p{L}\p{M}]{2,}+(?![\w-])")
_LATIN: Final = regex.compile(r"\p{Latin}")
_NOT_ENGLISH: Final = regex.compile(r"(?![A-Za-z])\p{Latin}")
_OTHER_SCRIPTS: Final = frozenset({"ar", "bg", "el", "fa", "he", "hi", "ru", "uk"})
_SPANISH_MARK: Final = regex.compile(r"[¿¡]")
# The list of English stop words also has the codes of countries and some words of other languages.
_SHORT_ENGLISH_WORDS: Final = split_word_set(
    "a am an as at be by do go he i if in is it me my no of on or so to up us we"
)
_NO_ENGLISH_WORDS: Final = split_word_set("que con com")


def name_languages(codes: Iterable[str]) -> str:
    """The names of these languages, for a sentence."""
    return " and ".join(STOP_WORD_LANGUAGES[code].capitalize() for code in codes)


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
    hits = _count_stop_words(words)
    hits["en"] = sum(_is_english(word) for word in words)
    read = max(hits[language] for language in languages)
    other = max((hits[name] for name in hits if name not in languages), default=0)
    if other > read or (_SPANISH_MARK.search(question) and "es" not in languages):
        return False
    if read:
        return True
    if is_in_other_script(question, languages):
        return False
    return "en" not in languages or not _NOT_ENGLISH.search(question)


def is_in_other_language(question: str, languages: Collection[str]) -> bool:
    """Whether at least two of the question's words are stop words of one other language, and more
    than are stop words of these languages. Surer than not ``is_in_languages``: one foreign word
    does not count, nor do initials and parts of hyphenated words such as "pre-training"."""
    all_hits = _count_stop_words({word.text.lower() for word in split_words(question)})
    read = max(all_hits[language] for language in languages)
    hits = _count_stop_words(set(_WHOLE_WORD.findall(question.lower())))
    other = max((hits[name] for name in hits if name not in languages), default=0)
    return other >= 2 and other > read


def is_in_other_script(question: str, languages: Collection[str]) -> bool:
    """Whether most letters are not Latin, for languages that are all written in Latin letters."""
    return not is_latin(question) and not _OTHER_SCRIPTS & set(languages)


def is_unread(text: str, languages: Collection[str]) -> bool:
    """Whether a text, rather than a question, is in none of these languages."""
    return is_in_other_script(text, languages) or is_in_other_language(text, languages)


def is_latin(text: str) -> bool:
    """Whether most letters are Latin, or there are none."""
    letter_count = len(_LETTER.findall(text))
    return letter_count == 0 or 2 * len(_LATIN.findall(text)) > letter_count


def _count_stop_words(words: Collection[str]) -> Counter[str]:
    return Counter(name for word in words for name in find_languages_of_stop_word(word))


def _is_english(word: str) -> bool:
    if "en" not in find_languages_of_stop_word(word) or word in _NO_ENGLISH_WORDS:
        return False
    return len(word) > 2 or word in _SHORT_ENGLISH_WORDS
