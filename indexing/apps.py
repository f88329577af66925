from django.apps import AppConfig


class IndexingConfig(AppConfig):
    name = "indexing"

    def ready(self) -> None:
        from access.grants import register_index_names
        from core.command_hooks import register_indexes
        from documents.index_catalog import register_catalog
        from indexing import checks, signals  # noqa: F401
        from indexing.catalog import LedgerIndexCatalog, list_public_index_names
        from indexing.services import load_specs
        from indexing.stores import close_store

        catalog = LedgerIndexCatalog()
        register_catalog(catalog)
        register_indexes(load_specs, close_store)
        register_index_names(catalog.index_names, list_public_index_names)
