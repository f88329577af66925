"""Preload embedding models, the vector store and query pipelines before the first request."""

import gc
import logging
from collections.abc import Collection

from django.db import connection

from core.exceptions import StrataError
from documents.models import Artifact
from indexing import embedding
from indexing.models import IndexBuild
from indexing.spec import EmbeddingSpec
from indexing.spec.loaded import get_specs
from indexing.stores import get_store

logger = logging.getLogger(__name__)

# From disk a model is loaded by then. One that is downloaded, or cannot be, goes on in the
# background: a process that is replaced must not keep requests waiting for it.
PRELOAD_SECONDS = 20.0


def preload_models_and_store() -> None:
    """The embedding models of all specs and the vector store. Without them the process serves
    all the same, and says so."""
    try:
        specs = get_specs().values()
        _preload_models({model for spec in specs for model in spec.embedding_specs})
        get_store().ping()
    except StrataError as error:  # whoever searches is told, and the rest works meanwhile
        logger.warning("This process serves without having loaded all it needs: %s", error)


def preload_models_in_use() -> None:
    """The embedding models of the indexes that hold documents. The others may never be needed, and
    some would be downloaded."""
    try:
        _preload_models(
            {
                model
                for build in IndexBuild.objects.live()
                if not build.reading_problem
                and Artifact.objects.filter(index=build.index_id).exists()
                for model in build.spec.embedding_specs
            }
        )
    finally:
        connection.close()  # a thread that ends has no other who does


def preload_pipelines() -> None:
    """The query pipelines that the specs name, and with the first of them Haystack and
    LlamaIndex, which take seconds to import."""
    from retrieval.pipelines.loading import get_pipeline

    for name in {spec.search.pipeline for spec in get_specs().values()}:
        try:
            get_pipeline(name)
        except StrataError as error:
            logger.warning("A query pipeline was not loaded: %s", error)


def preload_all() -> None:
    preload_models_and_store()
    preload_pipelines()
    freeze_loaded_objects()


def freeze_loaded_objects() -> None:
    """Have the garbage collector pass over what is loaded by now and stays.

    A full collection stops the process while it goes through all objects: 120 ms with a model and
    the pipelines (260,000 objects), and less than 1 ms once those are frozen. Freezing takes one
    last full collection.
    """
    gc.collect()
    gc.freeze()


def _preload_models(models: Collection[EmbeddingSpec]) -> None:
    for error in embedding.load_models(models, PRELOAD_SECONDS):
        logger.warning("This process serves without a model: %s %s", error, error.fix or "")
