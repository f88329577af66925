"""Finds a quote in a text: an exact match first, else a normalised one, with exact offsets."""

from functools import lru_cache

import regex  # for grapheme clusters, which re lacks

from core.text import normalise

Span = tuple[int, int]  # offsets of the first character and one past the last

# Flags are matched first, because \X would look back from each to the start of a run of flags.
_GRAPHEME = regex.compile(
    r"\p{GCB=Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*+|\X"
)
_INVISIBLE_CHARACTERS = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_RAISED = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹")
_PUNCTUATION_VARIANTS = str.maketrans(
    dict.fromkeys("‘’‚‛′`´", "'")
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‐‑‒–—―−﹘﹣－", "-")
)


def find_quote(text: str, quote: str) -> Span | None:
    """Find the first occurrence of ``quote`` in ``text``, in code points; None if there is none.

    Without an exact match, differences in case, white space, quotation marks and dashes, and those
    that NFKC removes, are ignored. A blank quote is never found.
    """
    normal_quote = _normalise_with_spans(quote)[0].strip()
    if not normal_quote:
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    normal_text, spans = _normalise_with_spans(text)
    start = normal_text.find(normal_quote)
    if start < 0:
        return None
    return spans[start][0], spans[start + len(normal_quote) - 1][1]


@lru_cache(maxsize=32)  # callers search several quotes in the same text
def _normalise_with_spans(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The normalised text, and the original span of each of its characters."""
    characters: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _GRAPHEME.finditer(text):
        # Translate before and after, because NFKC decomposes some marks.
        cluster = match.group().translate(_PUNCTUATION_VARIANTS)
        is_power = cluster in _RAISED and characters[-1:] and characters[-1].isdigit()
        if not is_power:  # 10⁶ is not 106
            cluster = normalise(cluster, "NFKC").translate(_PUNCTUATION_VARIANTS)
        for character in cluster.translate(_INVISIBLE_CHARACTERS).casefold():
            if character.isspace():
                if characters and characters[-1] == " ":
                    spans[-1] = (spans[-1][0], match.end())
                    continue
                character = " "
            characters.append(character)
            spans.append((match.start(), match.end()))
    return "".join(characters), spans
