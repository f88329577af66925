"""Find out whether a text mentions a value of a field, by the value itself or another wording."""

import unicodedata
from collections.abc import Iterable

import regex  # for scripts and Unicode properties, which re lacks

from summaries.extractive.sentences import UNSPACED_SCRIPTS

WordSequence = tuple[str, ...]

# A token is a word, or a single letter in scripts without spaces, so that values are found inside
# longer runs. Other characters and blank lines are tokens too, so no wording matches across them.
# Spaces, hyphens and underscores are not tokens.
_TOKEN = regex.compile(
    rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED_SCRIPTS}]]++ | [{UNSPACED_SCRIPTS}]"
    r" | \n[^\S\n]*+\n | [^\s\-‐‑_]",
    regex.VERSION1 | regex.VERBOSE,
)
_SINGULAR = regex.compile(r"(?:\p{L}{3,}(?:[sxz]|[cs]h)(?=es$)|\p{L}{3,}[^\W\dsui](?=s$))")
MIN_PLURAL_LETTERS = 3  # shorter words get no plural -s


def mentions_any(text: str, wordings: Iterable[str]) -> bool:
    """Whether the text contains one of the wordings as whole words, in upper or lower case.

    ``_`` in a wording also matches a space or hyphen, and its last word matches in singular and
    plural (-s, -es).
    """
    words = _tokenize(text)
    return any(
        words[start : start + len(form)] == form
        for wording in wordings
        for form in _singular_and_plural_forms(_tokenize(wording))
        for start in range(len(words) - len(form) + 1)
    )


def _tokenize(text: str) -> WordSequence:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return tuple(_TOKEN.findall(folded))


def _singular_and_plural_forms(words: WordSequence) -> list[WordSequence]:
    """A wording with its last word as given, with -s, with -es, and in the singular."""
    if not words:
        return []
    *before, last = words
    forms = [last]
    if (
        len(last) >= MIN_PLURAL_LETTERS
        and last.isalpha()
        and not regex.search(f"[{UNSPACED_SCRIPTS}]", last)
    ):
        forms += [last + "s", last + "es"]
        if singular := _SINGULAR.match(last):
            forms.append(singular[0])
    return [(*before, form) for form in forms]
