"""LlamaIndex retrievers over Strata's indexes, one in each file. They need no HTTP.

Importing this package imports LlamaIndex, which takes seconds: do it inside functions.
"""

from retrieval.retrievers.chunk import ChunkRetriever
from retrieval.retrievers.hierarchical import HierarchicalRetriever
from retrieval.retrievers.queries import QueriesRetriever
from retrieval.retrievers.question import QuestionRetriever
from retrieval.retrievers.summary import SummaryRetriever

__all__ = [
    "ChunkRetriever",
    "HierarchicalRetriever",
    "QueriesRetriever",
    "QuestionRetriever",
    "SummaryRetriever",
]
