"""The people, names and marks that the documents of an index hold, ready to be looked up."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from indexing.spec import FieldSpec, IndexSpec, ValueSpec
from indexing.stores import VectorStore, get_store
from retrieval.questions.words import fold_words

Words = tuple[str, ...]

KEPT_SECONDS: Final = 60.0
HURRIED_SECONDS: Final = 2.0  # where a name is unknown: it may have come since
UNUSED_SECONDS: Final = 600.0  # after that a build that nobody asks any more is forgotten
MOST_VALUES: Final = 200_000  # of one field; those that fewest points hold are left out
_SUFFIXES: Final = frozenset({"jr", "sr", "ii", "iii", "iv"})
_LESSER: Final = frozenset({"honorable", "honourable", "mention", "runner", "nominee", "finalist"})
_WORKS: Final = frozenset({"paper", "thesis", "demo"})
_PRIZES: Final = frozenset({"award", "awards", "prize", "prizes", "medal", "medals"})


class People:
    """Names of persons, as ``First Last`` or ``Last, First``."""

    def __init__(self, values: Iterable[str]) -> None:
        self._exact: defaultdict[Words, list[str]] = defaultdict(list)
        self._by_last: defaultdict[str, list[tuple[Words, str]]] = defaultdict(list)
        for value in values:
            if words := _name_words(value):
                self._exact[words].append(value)
                self._by_last[words[-1]].append((words, value))

    def find(self, words: Words) -> list[str]:
        """Who may be meant, in the order they were given.

        Those of exactly this name; else, those whose surname or last names it is; else, those
        whose first names agree with the given ones or their initials.
        """
        words = _without_suffix(words)
        if not words:
            return []
        if words in self._exact:
            return list(self._exact[words])
        namesakes = self._by_last.get(words[-1], [])
        if ending := [value for name, value in namesakes if name[-len(words) :] == words]:
            return ending
        return [value for name, value in namesakes if _agree(words[:-1], name[:-1])]

    def has(self, words: Words) -> bool:
        """Whether somebody has exactly this name."""
        return words in self._exact

    def has_surname(self, word: str) -> bool:
        return word in self._by_last


class Found(NamedTuple):
    values: tuple[str, ...]
    length: int  # words


class Names:
    """Names of things: declared ones with their synonyms, and what documents hold."""

    def __init__(self, values: Iterable[str], declared: Sequence[ValueSpec] = ()) -> None:
        self._by_first: defaultdict[str, dict[Words, dict[str, None]]] = defaultdict(dict)
        self.declared = frozenset(each.value for each in declared)
        self.values = list(dict.fromkeys([*(each.value for each in declared), *values]))
        for each in declared:
            for wording in each.synonyms:
                self._add(wording, each.value)
        for value in self.values:
            self._add(value, value)

    @property
    def words(self) -> Collection[str]:
        """The first words of all names."""
        return self._by_first.keys()

    def find(self, words: Sequence[str], start: int = 0) -> Found | None:
        """The longest name that begins at ``words[start]``."""
        best: Found | None = None
        for name, values in self._by_first.get(words[start], {}).items():
            length = len(name)
            if tuple(words[start : start + length]) != name:
                continue
            if best is None or length > best.length:
                best = Found(tuple(values), length)
        return best

    def _add(self, wording: str, value: str) -> None:
        if words := fold_words(wording):
            self._by_first[words[0]].setdefault(words, {})[value] = None


class Marks:
    """Distinctions: prizes, badges, labels of merit."""

    def __init__(self, values: Iterable[str], declared: Sequence[ValueSpec] = ()) -> None:
        wordings = {value: [value] for value in values}
        for each in declared:
            wordings.setdefault(each.value, [each.value]).extend(each.synonyms)
        self.values = list(wordings)
        self._words = [
            (frozenset(_singular(word) for word in fold_words(wording)), value)
            for value, those in wordings.items()
            for wording in those
        ]

    def find(self, words: Iterable[str]) -> list[str]:
        """Those that hold all of these words, a best paper award for ``best paper`` too; lesser
        ones, such as a runner-up, only where they are named."""
        said = {_singular(word) for word in words} - _PRIZES
        return self._find(said) or self._find(said - _WORKS)

    def _find(self, wanted: set[str]) -> list[str]:
        return list(
            dict.fromkeys(
                value
                for held, value in self._words
                if wanted and wanted <= held and not (held - wanted) & _LESSER
            )
        )


Known = People | Names | Marks


class Values:
    """What one build's documents hold in the fields that may be spoken of."""

    def __init__(self, known: Mapping[str, Known]) -> None:
        self._known = known

    def people(self, field: str) -> People:
        return self._get(field, People)

    def names(self, field: str) -> Names:
        return self._get(field, Names)

    def marks(self, field: str) -> Marks:
        return self._get(field, Marks)

    def _get(self, field: str, kind: type[Any]) -> Any:
        known = self._known.get(field)
        return known if isinstance(known, kind) else kind(())


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    counts: Mapping[str, int]
    known: Known


_kept: "WeakKeyDictionary[VectorStore, dict[tuple[str, str], _Kept]]" = WeakKeyDictionary()
_reading = threading.Lock()


def read_values(spec: IndexSpec, collection: str, *, seconds: float = KEPT_SECONDS) -> Values:
    """What the points of the collection hold, at most ``seconds`` old.

    Raises:
        StoreUnavailable: retry helps.
    """
    return Values(
        {
            name: _read_field(name, field, collection, seconds)
            for name, field in spec.metadata.items()
            if field.said_as in _MAKERS
        }
    )


def _read_field(name: str, field: FieldSpec, collection: str, seconds: float) -> Known:
    fields = _kept.setdefault(get_store(), {})
    kept = fields.get((collection, name))
    if kept is not None and _age(kept) < seconds:
        return kept.known
    # One reads: sixty thousand names take a moment. The others go by what was known before.
    if not _reading.acquire(blocking=kept is None):
        assert kept is not None
        return kept.known
    try:
        kept = fields.get((collection, name))
        if kept is None or _age(kept) >= seconds:
            kept = fields[collection, name] = _look(name, field, collection, kept)
            for unused in [key for key, each in fields.items() if _age(each) > UNUSED_SECONDS]:
                del fields[unused]
        return kept.known
    finally:
        _reading.release()


def _look(name: str, field: FieldSpec, collection: str, kept: _Kept | None) -> _Kept:
    counts = get_store().facet(collection, name, limit=MOST_VALUES)
    is_same = kept is not None and kept.counts.keys() == counts.keys()
    known = kept.known if kept is not None and is_same else _make(field, counts)
    return _Kept(time.monotonic(), counts, known)


def _age(kept: _Kept) -> float:
    return time.monotonic() - kept.at


def _make(field: FieldSpec, counts: Mapping[str, int]) -> Known:
    if field.said_as == "person":
        return People(counts)
    make = _MAKERS[field.said_as]
    return make(counts, field.values or ())


_MAKERS: dict[str | None, Callable[..., Known]] = {
    "person": People,
    "name": Names,
    "mark": Marks,
}


# --- Names of persons ------------------------------------------------------------------------


def _name_words(value: str) -> Words:
    last, comma, first = value.partition(",")
    return _without_suffix(fold_words(f"{first} {last}" if comma else value))


def _without_suffix(words: Words) -> Words:
    return words[:-1] if len(words) > 1 and words[-1] in _SUFFIXES else words


def _agree(given: Words, first_names: Words) -> bool:
    """Whether these may be the first names of one person: each of the fewer is found among the
    others in their order, as it is or as an initial, and the first is the first."""
    if not given or not first_names:
        return False
    if "".join(given) == "".join(first_names):  # Kai-Wei and Kaiwei
        return True
    fewer, more = sorted((given, first_names), key=len)
    if not _may_be(fewer[0], more[0]):
        return False
    rest = iter(more[1:])
    return all(any(_may_be(each, other) for other in rest) for each in fewer[1:])


def _may_be(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) == 1 and long.startswith(short))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
