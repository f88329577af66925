"""Stores the settings of an index that belong to no build."""

from indexing.models import Index, SearchSettings
from indexing.spec import IndexSpec, dump_search_settings


def store_search_settings(index: Index, spec: IndexSpec) -> None:
    """Make searches of the index use the spec's settings, whichever build is live, and store
    whether they need a key. A change of the settings gets the next number; the caller must hold the
    lock of the index's row."""
    if index.is_public != spec.public:
        index.is_public = spec.public
        index.save(update_fields=["is_public"])
    if has_search_settings(index, spec):
        return
    current = index.search_settings
    index.search_settings = SearchSettings.objects.create(
        index=index,
        number=1 if current is None else current.number + 1,
        content=dump_search_settings(spec),
    )
    index.save(update_fields=["search_settings"])


def has_search_settings(index: Index, spec: IndexSpec) -> bool:
    current = index.search_settings
    return current is not None and current.content == dump_search_settings(spec)
