"""Preload embedding models, the vector store and query pipelines before the first request."""

import logging

from core.exceptions import StrataError
from indexing import embedding
from indexing.spec.loaded import get_specs
from indexing.stores import get_store

logger = logging.getLogger(__name__)


def preload_models_and_store() -> None:
    """The embedding models of all specs and the vector store. Without them the process serves
    all the same, and says so."""
    try:
        for model in {model for spec in get_specs().values() for model in spec.embedding_specs}:
            embedding.get_embedder(model)
        get_store().ping()
    except StrataError as error:  # whoever searches is told, and the rest works meanwhile
        logger.warning("This process serves without having loaded all it needs: %s", error)


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
