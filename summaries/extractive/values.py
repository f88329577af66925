"""Find the values of declared fields that a text mentions, directly or by a synonym."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import regex  # for scripts and Unicode properties, which re lacks

from core.text import normalise
from indexing.spec import FieldSpec
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


class _DeclaredField(NamedTuple):
    name: str
    many: bool
    lowercase: bool
    values: tuple[tuple[str, tuple[str, ...]], ...]  # each with its synonyms


class _WordingIndex(NamedTuple):
    values: Mapping[WordSequence, tuple[str, ...]]  # wording -> the values it means
    lengths: Mapping[str, tuple[int, ...]]  # first word -> lengths of the wordings, longest first


def match_field_values(text: str, fields: Mapping[str, FieldSpec]) -> dict[str, str | list[str]]:
    """Return the declared values that a text mentions, directly or by a synonym, in any case.

    A many-valued field gets all of them, in the spec's order. Any other field gets the value
    mentioned most often; the first one wins a tie. ``_`` in a value also matches a space or hyphen,
    and the last word matches in singular and plural (-s, -es). The longest of overlapping wordings
    counts. Fields without listed values, and fields without a mentioned value, are left out.
    """
    declared = tuple(
        _DeclaredField(
            name,
            field.many,
            field.lowercase,
            tuple((each.value, each.synonyms) for each in field.values),
        )
        for name, field in fields.items()
        if field.values
    )
    words = _tokenize(text) if declared else ()
    found: dict[str, str | list[str]] = {}
    for field in declared:
        mention_counts = _count_values(words, _index_wordings(field))
        if not mention_counts:
            continue
        if field.many:
            chosen = [value for value, _ in field.values if value in mention_counts]
        else:  # max and dict return the first one of a tie
            chosen = [max(mention_counts, key=mention_counts.__getitem__)]
        if field.lowercase:
            chosen = [value.lower() for value in chosen]
        found[field.name] = chosen if field.many else chosen[0]
    return found


def _tokenize(text: str) -> WordSequence:
    folded = normalise(text, "NFKC").casefold().replace("’", "'")
    return tuple(_TOKEN.findall(folded))


@lru_cache(maxsize=256)
def _index_wordings(field: _DeclaredField) -> _WordingIndex:
    values: dict[WordSequence, dict[str, None]] = {}
    for value, synonyms in field.values:
        for wording in (value, *synonyms):
            for words in _singular_and_plural_forms(_tokenize(wording)):
                values.setdefault(words, {})[value] = None
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


def _count_values(words: WordSequence, phrases: _WordingIndex) -> dict[str, int]:
    """Count the mentions of each value; keys in the order of first mention."""
    spans = [
        (start, start + length)
        for start, word in enumerate(words)
        for length in phrases.lengths.get(word, ())
        if words[start : start + length] in phrases.values
    ]
    is_covered = [False] * len(words)
    chosen_spans = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):  # longest first
        if not any(is_covered[start:end]):
            is_covered[start:end] = [True] * (end - start)
            chosen_spans.append((start, end))
    named: dict[str, int] = {}
    for start, end in sorted(chosen_spans):
        for value in phrases.values[words[start:end]]:
            named[value] = named.get(value, 0) + 1
    return named
