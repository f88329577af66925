"""Key phrases of a text, by yake."""

from functools import lru_cache
from typing import TYPE_CHECKING

from summaries.extractive.languages import LANGUAGES

if TYPE_CHECKING:
    from yake import KeywordExtractor

MAX_WORDS = 3  # of a phrase
UNKNOWN = "xx"  # has no file there: no stop words, then
MAX_CHARS = 4_000  # of a text that are read: the time yake takes grows with it


def find_key_phrases(sentences: list[str], *, language: str, count: int) -> list[str]:
    """At most ``count`` phrases of one to three words, the most telling first.

    Source:
        Campos et al., "YAKE! Keyword extraction from single documents using multiple local
        features", Information Sciences 509, 2020.
    """
    lines, length = [], 0
    for sentence in sentences:
        lines.append(sentence if sentence[-1:] in ".!?…" else f"{sentence}.")
        length += len(sentence)
        if length > MAX_CHARS:
            break
    found = _get_extractor(language).extract_keywords(" ".join(lines)[:MAX_CHARS])
    return [phrase for phrase, _ in found][:count]


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    return frozenset(_get_extractor(language).stopword_set) - {""}


@lru_cache(maxsize=64)
def _get_extractor(language: str) -> "KeywordExtractor":
    from yake import KeywordExtractor  # half a second, with networkx: not when Django starts

    # Jaro: for its own measure an extractor keeps a cache that threads clear under each other.
    return KeywordExtractor(
        lan=LANGUAGES.get(language, UNKNOWN), n=MAX_WORDS, top=30, dedup_func="jaro"
    )
