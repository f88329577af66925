"""The languages of questions and of an index's texts, and whether an embedding model reads them."""

import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex  # for scripts, which re lacks
from django.db.models.functions import Left

from access.grants import EVERYTHING, Grant
from documents.groups import is_visible
from documents.models import Source
from indexing.embedding.availability import get_model_languages
from indexing.models import IndexBuild
from text.languages import (
    MAX_CHARS_SAMPLED,
    STOP_WORD_LANGUAGES,
    find_languages_of_stop_word,
    guess_language,
)
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
    does not count, nor do initials and parts of compounds such as "pre-training"."""
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


SAMPLED_DOCUMENTS: Final = 100  # the newest
MIN_SHARE: Final = 0.05  # of the texts, from which a language counts
CACHE_SECONDS: Final = 600.0
UNREAD_TEXTS_FIX: Final = (
    "Choose a multilingual model, such as "
    "sentence-transformers/paraphrase-multilingual-mpnet-base-v2: see "
    "docs/how-to/choose-an-embedding-model.md#other-languages."
)


@dataclass(frozen=True, slots=True)
class TextLanguages:
    """What is common among the texts of an index.

    ``languages``: codes (ISO 639-1); empty if those of most texts were not recognised.
    ``has_latin`` and ``has_other_scripts``: whether texts are in Latin letters, and in others.
    """

    languages: tuple[str, ...]
    has_latin: bool
    has_other_scripts: bool


def find_text_languages(index: str, grant: Grant) -> TextLanguages:
    """The languages of the documents that the grant includes, at most ``CACHE_SECONDS`` old."""
    return _find_text_languages(index, grant, time.monotonic() // CACHE_SECONDS)


@lru_cache(maxsize=1_000)
def _find_text_languages(index: str, grant: Grant, period: float) -> TextLanguages:
    texts = _sample_texts(index, grant)
    languages = Counter(guess_language(text, "") for text in texts)
    latin_count = sum(is_latin(text) for text in texts)
    common = {name for name, count in languages.items() if count >= MIN_SHARE * len(texts)}
    is_recognised = 2 * languages[""] < len(texts)
    return TextLanguages(
        tuple(sorted(common - {""})) if is_recognised else (),
        has_latin=latin_count >= MIN_SHARE * len(texts),
        has_other_scripts=len(texts) - latin_count >= MIN_SHARE * len(texts),
    )


def describe_unread_texts(build: IndexBuild) -> str | None:
    """Say how many of the sampled documents are in a language that the model of the build does not
    read; None unless most of them are."""
    model = build.spec.embedding
    languages = get_model_languages(model)
    if not languages:
        return None
    texts = _sample_texts(build.index_id, EVERYTHING)
    unread_count = sum(is_unread(text, languages) for text in texts)
    if 2 * unread_count <= len(texts):
        return None
    return (
        f"{build.index_id}: {unread_count} of {len(texts)} documents looked at are in a language "
        f"that the embedding model {model.model} does not read; it reads "
        f"{name_languages(languages)} only. They are found by their words, not by their meaning."
    )


def _sample_texts(index: str, grant: Grant) -> list[str]:
    sources = Source.objects.filter(is_visible(grant, "artifact__"), artifact__index=index)
    newest = sources.filter(ordinal=0).order_by("-artifact__revision")
    return list(newest.values_list(Left("text", MAX_CHARS_SAMPLED), flat=True)[:SAMPLED_DOCUMENTS])
