"""The indexes that may be searched without a key. The indexing app, which knows them, registers
how to list their names when it starts."""

from collections.abc import Callable, Iterable

ListNames = Callable[[], Iterable[str]]

_list_names: ListNames | None = None


def register_public_indexes(list_names: ListNames) -> None:
    global _list_names
    _list_names = list_names


def list_public_indexes() -> frozenset[str]:
    if _list_names is None:
        raise RuntimeError("No app has registered the public indexes.")
    return frozenset(_list_names())
