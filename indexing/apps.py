from django.apps import AppConfig


class IndexingConfig(AppConfig):
    name = "indexing"

    def ready(self) -> None:
        from documents.index_catalog import register_catalog
        from indexing import checks, signals  # noqa: F401
        from indexing.catalog import LedgerIndexCatalog

        register_catalog(LedgerIndexCatalog())
