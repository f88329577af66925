"""Text into vectors: the only place that loads an embedding model.

One module per provider, imported when a spec first names it: importing this package costs
neither LlamaIndex nor an inference runtime.
"""

from indexing.embedding.embedder import Embedder, get_embedder
from indexing.embedding.examination import examine_model
from indexing.embedding.structures import read_structure

__all__ = ["Embedder", "examine_model", "get_embedder", "read_structure"]
