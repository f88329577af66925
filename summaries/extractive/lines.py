"""A text in one line."""

import regex  # for Unicode properties, which re lacks

from summaries.extractive.sentences import clip_end, quotable_sentences

ELLIPSIS = "…"

_LONG_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]{4,}+")


def name_line(text: str, *, heading: str, limit: int = 160) -> str:
    """The first sentence that takes up most of the heading's words, else the first there is.

    On one line and at most ``limit`` characters, an ellipsis included where it was cut. Empty for
    a blank text only.
    """
    sentences = quotable_sentences(text)
    if not sentences:
        return ""
    sought = _long_words(heading)
    best = sentences[0]
    if sought:  # max keeps the first of equals
        best = max(sentences, key=lambda sentence: len(sought & _long_words(sentence.text)))
    line = " ".join(best.text.split())
    if len(line) <= limit:
        return line
    end = clip_end(line, 0, len(line), max(1, limit - len(ELLIPSIS)))
    return line[:end].rstrip(" ,;:–—、，；：") + ELLIPSIS


def _long_words(text: str) -> set[str]:
    return set(_LONG_WORD.findall(text.casefold()))
