"""Stores the settings of an index that belong to no build."""

from indexing.models import Index, SearchSettings
from indexing.spec import IndexSpec, StoreSpec, dump_search_settings, dump_store_settings


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


def save_store_settings(index: Index, spec: IndexSpec) -> None:
    """Make the reconciliation apply the spec's store settings to the index's collections."""
    if not has_store_settings(index, spec):
        index.store_settings = dump_store_settings(spec)
        index.save(update_fields=["store_settings"])


def has_store_settings(index: Index, spec: IndexSpec) -> bool:
    if index.store_settings is None:
        return spec.store == StoreSpec()
    return bool(index.store_settings == dump_store_settings(spec))
