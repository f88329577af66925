"""Find the values of declared fields that a text mentions, directly or by a synonym."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import regex  # for scripts and Unicode properties, which re lacks

from core.text import normalise
from indexing.spec import FieldSpec, ValueSpec
from text.quotable_sentences import UNSPACED_SCRIPTS

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


class _WordingIndex(NamedTuple):
    values: Mapping[WordSequence, tuple[str, ...]]  # wording -> the values it means
    lengths: Mapping[str, tuple[int, ...]]  # first word -> lengths of the wordings, longest first


def match_field_values(text: str, fields: Mapping[str, FieldSpec]) -> dict[str, list[str]]:
    """Return the declared values that a text mentions, directly or by a synonym, in any case, and
    in the spec's order.

    ``_`` in a value also matches a space or hyphen, and the last word matches in singular and
    plural (-s, -es). The longest of overlapping wordings counts. Fields without listed values, and
    fields without a mentioned value, are left out.
    """
    declared = {name: field for name, field in fields.items() if field.values}
    words = _tokenize(text) if declared else ()
    found: dict[str, list[str]] = {}
    for name, field in declared.items():
        values = field.values or ()
        mentioned = _find_mentioned(words, _index_wordings(values))
        chosen = [each.value for each in values if each.value in mentioned]
        if chosen:
            found[name] = field.normalise(chosen)
    return found


def _tokenize(text: str) -> WordSequence:
    folded = normalise(text, "NFKC").casefold().replace("’", "'")
    return tuple(_TOKEN.findall(folded))


@lru_cache(maxsize=256)
def _index_wordings(declared: tuple[ValueSpec, ...]) -> _WordingIndex:
    values: dict[WordSequence, dict[str, None]] = {}
    for each in declared:
        for wording in (each.value, *each.synonyms):
            for words in _singular_and_plural_forms(_tokenize(wording)):
                values.setdefault(words, {})[each.value] = None
    lengths: dict[str, set[int]] = {}
    for words in values:
        lengths.setdefault(words[0], set()).add(len(words))
    return _WordingIndex(
        {words: tuple(named) for words, named in values.items()},
        {first: tuple(sorted(those, reverse=True)) for first, those in lengths.items()},
    )


def _singular_and_plural_forms(words: WordSequence) -> list[WordSequence]:
    """A wording with its last word as declared, with -s, with -es, and in the singular."""
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


def _find_mentioned(words: WordSequence, index: _WordingIndex) -> set[str]:
    spans = [
        (start, start + length)
        for start, word in enumerate(words)
        for length in index.lengths.get(word, ())
        if words[start : start + length] in index.values
    ]
    is_covered = [False] * len(words)
    mentioned: set[str] = set()
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):  # longest first
        if not any(is_covered[start:end]):
            is_covered[start:end] = [True] * (end - start)
            mentioned.update(index.values[words[start:end]])
    return mentioned
