"""The names of all indexes, and of those that may be searched without a key. The indexing app,
which knows them, registers how to list them when it starts."""

from collections.abc import Callable, Iterable

ListNames = Callable[[], Iterable[str]]

_list_all: ListNames | None = None
_list_public: ListNames | None = None


def register_index_names(list_all: ListNames, list_public: ListNames) -> None:
    global _list_all, _list_public
    _list_all, _list_public = list_all, list_public


def list_index_names() -> list[str]:
    if _list_all is None:
        raise RuntimeError("No app has registered the names of indexes.")
    return sorted(_list_all())


def list_public_indexes() -> frozenset[str]:
    if _list_public is None:
        raise RuntimeError("No app has registered the public indexes.")
    return frozenset(_list_public())
