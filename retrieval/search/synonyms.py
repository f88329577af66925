"""Adds to a query the other names of what it mentions, as ``search.synonyms`` of the spec lists
them."""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from indexing.spec import SearchSpec
from retrieval.words import fold_words

Words = tuple[str, ...]


def add_synonyms(query: str, search: SearchSpec) -> str:
    """The query, followed by the other names, which the model and the words of a search then see.
    Case and accents do not matter; a name is found as whole words."""
    return " ".join([query, *find_synonyms(query, search)])


def find_synonyms(query: str, search: SearchSpec) -> list[str]:
    if not search.synonyms:
        return []
    groups = _groups_by_name(search)
    words = fold_words(query)
    longest = max(map(len, groups))
    runs = (
        words[start:end]
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
    )
    mentioned = dict.fromkeys(run for run in runs if run in groups)
    found = (name for run in mentioned for group in groups[run] for name in group)
    return list(dict.fromkeys(name for name in found if fold_words(name) not in mentioned))


@lru_cache(maxsize=256)
def _groups_by_name(search: SearchSpec) -> Mapping[Words, list[tuple[str, ...]]]:
    groups = defaultdict(list)
    for group in search.synonyms:
        for name in group:
            groups[fold_words(name)].append(group)
    return groups
