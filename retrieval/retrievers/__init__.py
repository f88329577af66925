"""LlamaIndex retrievers over Strata's indexes: one for each way of searching.

Views, commands and pipelines search through them too. Importing this package imports LlamaIndex,
which takes seconds: do it inside functions, or by ``retrieval.all_searches``.
"""

from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.ranked import (
    ChunkRetriever,
    HierarchicalRetriever,
    QueriesRetriever,
    QuestionRetriever,
    SummaryRetriever,
)
from retrieval.retrievers.recursive import RecursiveChunkRetriever
