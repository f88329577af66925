from django.apps import AppConfig


class IndexingConfig(AppConfig):
    name = "indexing"

    def ready(self) -> None:
        from documents.indexes import register_catalog
        from indexing import checks, signals  # noqa: F401
        from indexing.catalog import Catalog
        from indexing.chunks import ChunkKind
        from indexing.compounds import CompoundKind
        from indexing.images import ImageKind
        from indexing.kinds import register_kind

        register_catalog(Catalog())
        register_kind(ChunkKind())
        register_kind(CompoundKind())
        register_kind(ImageKind())
