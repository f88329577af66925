"""LlamaIndex retrievers over Strata's indexes, one concept a file; usable without HTTP.

Importing this package imports LlamaIndex, which takes seconds: do it inside functions.
"""

from retrieval.retrievers.chunk import ChunkRetriever

__all__ = ["ChunkRetriever"]
