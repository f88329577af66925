"""Look up the people, names and marks stored in an index; cached in the process."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from indexing.spec import FieldSpec, IndexSpec, ValueSpec
from indexing.stores import VectorStore
from retrieval.visible_points import VisiblePoints
from text.words import fold_words

Words = tuple[str, ...]

VALUES_CACHE_SECONDS: Final = 60.0
UNKNOWN_NAME_CACHE_SECONDS: Final = 2.0  # for unknown names, which may be newer than the cache
UNUSED_CACHE_SECONDS: Final = 600.0  # after this, entries of builds not read any more are deleted
MAX_VALUES: Final = 200_000  # per field; the values with the fewest points are left out
_NAME_SUFFIXES: Final = frozenset({"jr", "sr", "ii", "iii", "iv"})
_LESSER_AWARD_WORDS: Final = frozenset(
    {"honorable", "honourable", "mention", "runner", "nominee", "finalist"}
)
_WORK_TYPE_WORDS: Final = frozenset({"paper", "thesis", "demo"})
_AWARD_WORDS: Final = frozenset({"award", "awards", "prize", "prizes", "medal", "medals"})


class PersonLookup:
    """Finds persons by name. Values are written ``First Last`` or ``Last, First``."""

    def __init__(self, values: Iterable[str], declared: Sequence[ValueSpec] = ()) -> None:
        self._exact: defaultdict[Words, list[str]] = defaultdict(list)
        self._by_surname: defaultdict[str, list[tuple[Words, str]]] = defaultdict(list)
        wordings = [(value, value) for value in values]
        wordings += [(each.value, each.value) for each in declared]
        wordings += [(synonym, each.value) for each in declared for synonym in each.synonyms]
        for wording, value in dict.fromkeys(wordings):
            if words := _split_person_name(wording):
                self._exact[words].append(value)
                self._by_surname[words[-1]].append((words, value))

    def find(self, words: Words) -> list[str]:
        """The persons these words may mean, in the order of the values.

        These are the persons with exactly this name; if there are none, those with this surname or
        these last names; if there are none, those whose first names or initials match.
        """
        words = _without_suffix(words)
        if not words:
            return []
        namesakes = self._by_surname.get(words[-1], [])
        found = (
            self._exact.get(words)
            or [value for name, value in namesakes if name[-len(words) :] == words]
            or [value for name, value in namesakes if _first_names_match(words[:-1], name[:-1])]
        )
        return list(dict.fromkeys(found))

    def has_full_name(self, words: Words) -> bool:
        return words in self._exact


class ValueMatch(NamedTuple):
    values: tuple[str, ...]
    length: int  # words


class NameLookup:
    """Finds names of things: declared values with synonyms, and the values documents hold."""

    def __init__(self, values: Iterable[str], declared: Sequence[ValueSpec] = ()) -> None:
        self._by_first_word: defaultdict[str, dict[Words, dict[str, None]]] = defaultdict(dict)
        self.declared_values = frozenset(each.value for each in declared)
        self.values = list(dict.fromkeys([*(each.value for each in declared), *values]))
        for each in declared:
            for wording in each.synonyms:
                self._add(wording, each.value)
        for value in self.values:
            self._add(value, value)

    def find(self, words: Sequence[str], start: int = 0) -> ValueMatch | None:
        """The longest name that begins at ``words[start]``."""
        best: ValueMatch | None = None
        for name, values in self._by_first_word.get(words[start], {}).items():
            length = len(name)
            if tuple(words[start : start + length]) != name:
                continue
            if best is None or length > best.length:
                best = ValueMatch(tuple(values), length)
        return best

    def _add(self, wording: str, value: str) -> None:
        if words := fold_words(wording):
            self._by_first_word[words[0]].setdefault(words, {})[value] = None


class MarkLookup:
    """Finds marks: awards, badges and similar labels."""

    def __init__(self, values: Iterable[str], declared: Sequence[ValueSpec] = ()) -> None:
        wordings = {value: [value] for value in values}
        for each in declared:
            wordings.setdefault(each.value, [each.value]).extend(each.synonyms)
        self.values = list(wordings)
        self._words = [
            (frozenset(_strip_plural_s(word) for word in fold_words(wording)), value)
            for value, those in wordings.items()
            for wording in those
        ]

    def find(self, words: Iterable[str]) -> list[str]:
        """Marks that contain all these words; words such as "award" and "paper" may be missing.
        Lesser marks, such as a runner-up, match only if they are named."""
        words_without_awards = {_strip_plural_s(word) for word in words} - _AWARD_WORDS
        return self._find_containing(words_without_awards) or self._find_containing(
            words_without_awards - _WORK_TYPE_WORDS
        )

    def _find_containing(self, searched_words: set[str]) -> list[str]:
        return list(
            dict.fromkeys(
                value
                for value_words, value in self._words
                if searched_words
                and searched_words <= value_words
                and not (value_words - searched_words) & _LESSER_AWARD_WORDS
            )
        )


ValueLookup = PersonLookup | NameLookup | MarkLookup


class ValueLookups:
    """The lookups of one build: one for each field with ``said_as``."""

    def __init__(self, known: Mapping[str, ValueLookup]) -> None:
        self._lookups = known

    def people(self, field: str) -> PersonLookup:
        return self._get(field, PersonLookup)

    def names(self, field: str) -> NameLookup:
        return self._get(field, NameLookup)

    def marks(self, field: str) -> MarkLookup:
        return self._get(field, MarkLookup)

    def _get(self, field: str, kind: type[Any]) -> Any:
        known = self._lookups.get(field)
        return known if isinstance(known, kind) else kind(())


@dataclass(frozen=True, slots=True)
class _CachedLookup:
    read_at: float
    counts: Mapping[str, int]
    lookup: ValueLookup


# Store -> collection, field and groups of the grant -> lookup.
_CacheKey = tuple[str, str, frozenset[str] | None]
_cache: "WeakKeyDictionary[VectorStore, dict[_CacheKey, _CachedLookup]]" = WeakKeyDictionary()
_refresh_lock = threading.Lock()


def get_value_lookups(
    spec: IndexSpec,
    collection: str,
    points: VisiblePoints,
    *,
    max_age_seconds: float = VALUES_CACHE_SECONDS,
) -> ValueLookups:
    """Lookups over the values of the visible points of a collection, at most ``max_age_seconds``
    old. Raises ``StoreUnavailable``: retry helps."""
    return ValueLookups(
        {
            name: _get_field_lookup(name, field, collection, points, max_age_seconds)
            for name, field in spec.metadata.items()
            if field.said_as in _LOOKUP_CLASSES
        }
    )


def _get_field_lookup(
    name: str, field: FieldSpec, collection: str, points: VisiblePoints, max_age_seconds: float
) -> ValueLookup:
    fields = _cache.setdefault(points.store, {})
    key = (collection, name, points.grant.groups)
    cached = fields.get(key)
    if cached is not None and _age(cached) < max_age_seconds:
        return cached.lookup
    # Only one thread reads the values, which is slow; the others use the cached ones meanwhile.
    if not _refresh_lock.acquire(blocking=cached is None):
        assert cached is not None
        return cached.lookup
    try:
        cached = fields.get(key)
        if cached is None or _age(cached) >= max_age_seconds:
            counts = points.facet(collection, name, limit=MAX_VALUES)
            if cached is not None and cached.counts.keys() == counts.keys():
                lookup = cached.lookup
            else:
                lookup = _make_lookup(field, counts)
            cached = fields[key] = _CachedLookup(time.monotonic(), counts, lookup)
            for unused in [
                other for other, each in fields.items() if _age(each) > UNUSED_CACHE_SECONDS
            ]:
                del fields[unused]
        return cached.lookup
    finally:
        _refresh_lock.release()


def _age(cached: _CachedLookup) -> float:
    return time.monotonic() - cached.read_at


def _make_lookup(field: FieldSpec, counts: Mapping[str, int]) -> ValueLookup:
    make = _LOOKUP_CLASSES[field.said_as]
    values = dict.fromkeys(map(field.normalise, counts)) if field.values else counts
    return make(values, field.values or ())


_LOOKUP_CLASSES: dict[str | None, Callable[..., ValueLookup]] = {
    "person": PersonLookup,
    "name": NameLookup,
    "mark": MarkLookup,
}


# --- Person names ----------------------------------------------------------------------------


def _split_person_name(value: str) -> Words:
    last, comma, first = value.partition(",")
    return _without_suffix(fold_words(f"{first} {last}" if comma else value))


def _without_suffix(words: Words) -> Words:
    return words[:-1] if len(words) > 1 and words[-1] in _NAME_SUFFIXES else words


def _first_names_match(given: Words, first_names: Words) -> bool:
    """Whether these can be first names of one person: their first words match, and the longer list
    contains the shorter one in order. Initials match full names."""
    if not given or not first_names:
        return False
    if "".join(given) == "".join(first_names):  # "Kai-Wei" and "Kaiwei"
        return True
    fewer, more = sorted((given, first_names), key=len)
    if not _is_same_or_initial(fewer[0], more[0]):
        return False
    rest = iter(more[1:])
    return all(any(_is_same_or_initial(each, other) for other in rest) for each in fewer[1:])


def _is_same_or_initial(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) == 1 and long.startswith(short))


def _strip_plural_s(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
