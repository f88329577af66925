"""Finding a quote in a text: to the letter, or else as a reader would, at its true offsets."""

import unicodedata
from functools import lru_cache

import regex  # for grapheme clusters, which re lacks

Span = tuple[int, int]  # the first character, and one past the last

_CLUSTER = regex.compile(r"\X")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_ALIKE = str.maketrans(
    dict.fromkeys("‘’‚‛′`´", "'")
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‐‑‒–—―−﹘﹣－", "-")
)


def find_quote(text: str, quote: str) -> Span | None:
    """Where ``quote`` first stands in ``text``, in code points; None where it does not.

    Failing an exact match, case, white space, the forms of quotation marks and dashes, and what
    NFKC makes equal do not count. A blank quote stands nowhere.
    """
    sought = _normalise(quote)[0].strip()
    if not sought:
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    normal, places = _normalise(text)
    start = normal.find(sought)
    if start < 0:
        return None
    return places[start][0], places[start + len(sought) - 1][1]


@lru_cache(maxsize=32)  # several quotes are sought in one text after another
def _normalise(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text as it is compared, and for each of its characters where what it came from lies."""
    characters: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _CLUSTER.finditer(text):
        # Before as well as after: NFKC takes some marks apart.
        cluster = match.group().translate(_ALIKE)
        cluster = unicodedata.normalize("NFKC", cluster).translate(_ALIKE)
        for character in cluster.translate(_INVISIBLE).casefold():
            if character.isspace():
                if characters and characters[-1] == " ":
                    places[-1] = (places[-1][0], match.end())
                    continue
                character = " "
            characters.append(character)
            places.append((match.start(), match.end()))
    return "".join(characters), places
