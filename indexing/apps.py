from django.db.models import Q

from core.apps import PathObject, StrataApp, Task, WaitingRows
from core.embedding_providers import EmbeddingProvider

# As of the partial indexes in ``indexing.models``, which cannot be imported here.
NOT_READY = ~Q(state="ready")
NOT_SYNCED = ~Q(state="synced")


class IndexingConfig(StrataApp):
    name = "indexing"
    api_urls = "indexing.urls"
    project_folders = ["specs"]
    embedding_providers = [
        EmbeddingProvider(
            name="fastembed",
            load="indexing.embedding.onnx_loading.load_onnx",
            describe_availability="indexing.embedding.availability.describe_fastembed_model",
            fetches_files=True,
        ),
        EmbeddingProvider(
            name="huggingface",
            load="indexing.embedding.huggingface_model.load_huggingface",
            fetches_files=True,
        ),
        EmbeddingProvider(name="openai", load="indexing.embedding.openai_model.load_openai"),
    ]
    tasks = [
        Task("read_anew", queue="documents"),
        Task("sync_nodes", queue="indexing"),
        Task("erase_deleted", queue="indexing", every=600),
        Task("load_new_specs", every=60),  # it costs one query if there is none
        Task("reconcile_indexes", every=60, purpose="indexes"),
    ]
    workers = ["reading_worker", "plan_worker", "sync_worker", "audit_worker"]
    waiting_rows = [
        WaitingRows(
            "reading files anew", "IndexedDocument", ["due"],
            since="due_at", condition=NOT_READY & Q(is_unread=True),
        ),
        WaitingRows(
            "planning", "IndexedDocument", ["due"],
            since="due_at", condition=NOT_READY & Q(is_unread=False),
        ),
        WaitingRows(
            "embedding", "Node", ["pending"], since="planned_at", condition=NOT_SYNCED
        ),
        WaitingRows(
            "deleting points", "Node", ["deleting"],
            failed="", since="planned_at", condition=NOT_SYNCED,
        ),
    ]  # fmt: skip
    path_objects = {
        "chunk_id": PathObject("Node", field="point_id", condition=Q(build__live_of__isnull=False))
    }
    exported = ["Node", "IndexedDocument", "NodeCountChange"]

    def ready(self) -> None:
        super().ready()
        from access.grants import register_index_names
        from core.command_hooks import register_indexes
        from documents.index_catalog import register_catalog
        from indexing.catalog import LedgerIndexCatalog, list_public_index_names
        from indexing.services import load_specs
        from indexing.stores import close_store

        catalog = LedgerIndexCatalog()
        register_catalog(catalog)
        register_indexes(load_specs, close_store)
        register_index_names(catalog.index_names, list_public_index_names)
