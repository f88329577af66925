"""One-line summaries: the sentence of a text that is closest to its heading."""

import regex  # for Unicode properties, which re lacks

from summaries.extractive.sentences import find_quotable_sentences, find_truncation_end

ELLIPSIS = "…"

_LONG_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]{4,}+")


def summarise_in_one_line(text: str, *, heading: str, limit: int = 160) -> str:
    """Return the sentence that shares most words with the heading; the first one wins a tie.

    The sentence is put on one line and truncated to ``limit`` characters, including an ellipsis.
    The result is empty only for a blank text.
    """
    sentences = find_quotable_sentences(text)
    if not sentences:
        return ""
    heading_words = _find_long_words(heading)
    best = sentences[0]
    if heading_words:  # max returns the first one of a tie
        best = max(
            sentences, key=lambda sentence: len(heading_words & _find_long_words(sentence.text))
        )
    line = " ".join(best.text.split())
    if len(line) <= limit:
        return line
    end = find_truncation_end(line, 0, len(line), max(1, limit - len(ELLIPSIS)))
    return line[:end].rstrip(" ,;:–—、，；：") + ELLIPSIS


def _find_long_words(text: str) -> set[str]:
    return set(_LONG_WORD.findall(text.casefold()))
