from django.apps import AppConfig


class IndexingConfig(AppConfig):
    name = "indexing"

    def ready(self) -> None:
        from documents.index_catalog import register_catalog
        from indexing import checks, signals  # noqa: F401
        from indexing.catalog import LedgerIndexCatalog
        from indexing.kinds.chunk import ChunkKind
        from indexing.kinds.compound import CompoundKind
        from indexing.kinds.image import ImageKind
        from indexing.kinds.registry import register_kind

        register_catalog(LedgerIndexCatalog())
        register_kind(ChunkKind())
        register_kind(CompoundKind())
        register_kind(ImageKind())
