"""Embed texts: the only package that loads an embedding model.

One module per provider, imported when a spec first names it, so importing this package imports
neither LlamaIndex nor an inference runtime.
"""

from indexing.embedding.availability import (
    describe_model_availability,
    describe_sparse_model_availability,
)
from indexing.embedding.embedder import (
    Embedder,
    get_embedder,
    import_libraries,
    load_models,
)
from indexing.embedding.sparse_model import get_sparse_model_loader
