"""The languages of an index's texts, and whether an embedding model reads them."""

import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.db.models.functions import Left

from access.grants import EVERYTHING, Grant
from documents.groups import is_visible
from documents.models import Source
from indexing.embedding.availability import get_model_languages
from indexing.models import IndexBuild
from text.languages import MAX_CHARS_SAMPLED, guess_language
from text.question_languages import is_latin, is_unread, name_languages

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
