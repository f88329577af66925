"""The names of all indexes. The indexing app, which knows them, registers how to list them when it
starts."""

from collections.abc import Callable, Iterable

ListNames = Callable[[], Iterable[str]]

_list_names: ListNames | None = None


def register_index_names(list_names: ListNames) -> None:
    global _list_names
    _list_names = list_names


def list_index_names() -> list[str]:
    if _list_names is None:
        raise RuntimeError("No app has registered the names of indexes.")
    return sorted(_list_names())
