"""Preload embedding models, the vector store and what apps need before the first request."""

import gc
import logging
from collections.abc import Sequence

from django.db import connection
from django.utils.module_loading import import_string

from core.apps import list_apps
from core.exceptions import StrataError
from documents.models import Artifact
from indexing import embedding
from indexing.models import IndexBuild
from indexing.spec import IndexSpec
from indexing.spec.loaded import get_invalid_specs, get_specs
from indexing.stores import get_store

logger = logging.getLogger(__name__)

# Enough to load a model from disk. A download continues in the background: when a process is
# replaced, requests must not wait for it.
PRELOAD_SECONDS = 20.0


def preload_models_and_store() -> None:
    """Load the embedding models of all specs and connect to the vector store. If that fails, the
    process logs it and serves without them."""
    try:
        _preload_models(list(get_specs().values()))
        get_store().ping()
    except StrataError as error:  # searches report it; the rest works
        logger.warning("This process serves without having loaded all it needs: %s", error)


def preload_models_in_use() -> None:
    """Load the embedding models of indexes that hold documents. The others may never be needed, and
    some would have to be downloaded."""
    try:
        _preload_models(
            [
                build.spec
                for build in IndexBuild.objects.live().readable()
                if Artifact.objects.filter(index=build.index_id).exists()
            ]
        )
    finally:
        connection.close()  # nothing else closes the connection of this thread


def preload_apps() -> None:
    for app in list_apps():
        if app.preload:
            import_string(app.preload)()


def preload_all() -> None:
    for problem in get_invalid_specs().values():
        logger.warning("%s The other indexes are served.", problem)
    preload_models_and_store()
    preload_apps()
    freeze_loaded_objects()


def freeze_loaded_objects() -> None:
    """Exclude everything loaded so far from garbage collection.

    A full collection stops the process while it goes through all objects: 120 ms with a model and
    the pipelines (260,000 objects), and less than 1 ms once those are frozen. Freezing takes one
    last full collection.
    """
    gc.collect()
    gc.freeze()


def _preload_models(specs: Sequence[IndexSpec]) -> None:
    for name in filter(None, {spec.sparse.model for spec in specs}):
        embedding.get_sparse_model_loader(name).start()  # in the background
    models = {model for spec in specs for model in spec.embedding_specs}
    for error in embedding.load_models(models, PRELOAD_SECONDS):
        logger.warning("This process serves without a model: %s %s", error, error.fix or "")
