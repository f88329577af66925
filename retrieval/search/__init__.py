"""Searches the nodes of an index and checks every hit.

The one search there is, for every kind of node: the HTTP views, the retrievers, the tools and
the commands all come here.

    request.py    what is asked, and whether it may be
    targets.py    the collections that answer, and what they gave
    checks.py      what they gave, compared with the documents as they are now
    flat.py       one ranking of one kind: chunks, summaries, questions
    queries.py    several queries for one need, a ranking of passages for each
    hierarchy.py  summaries and chunks at once, by artifact and page
    spaces.py     what was found of artifacts in several spaces, fused by rank
    structures.py chemical structures and chunks, by artifact
    images.py     pictures and chunks, by artifact
"""

from retrieval.search.flat import (
    Hit,
    SearchAnswer,
    asearch_chunks,
    search_artifacts,
    search_chunks,
    search_questions,
    search_summaries,
)
from retrieval.search.hierarchy import (
    MAX_ARTIFACTS,
    ArtifactGroup,
    HierarchicalAnswer,
    HierarchicalRequest,
    PageGroup,
    search_hierarchical,
)
from retrieval.search.hit_checks import DroppedPoints, Verdict
from retrieval.search.images import search_images
from retrieval.search.multi_query import (
    MAX_CANDIDATES,
    MAX_QUERIES,
    HitWithSimilarity,
    QueriesAnswer,
    QueriesRequest,
    search_queries,
)
from retrieval.search.request import (
    MAX_INDEXES,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY_CHARS,
    SCORE_KINDS,
    Mode,
    SearchRequest,
    StaleHits,
    SummaryType,
)
from retrieval.search.structures import search_structures
from retrieval.search.vector_spaces import ArtifactHit, ArtifactsAnswer

__all__ = [
    "MAX_ARTIFACTS",
    "MAX_CANDIDATES",
    "MAX_INDEXES",
    "MAX_LIMIT",
    "MAX_OFFSET",
    "MAX_QUERIES",
    "MAX_QUERY_CHARS",
    "SCORE_KINDS",
    "ArtifactGroup",
    "ArtifactHit",
    "ArtifactsAnswer",
    "DroppedPoints",
    "HierarchicalAnswer",
    "HierarchicalRequest",
    "Hit",
    "HitWithSimilarity",
    "Mode",
    "PageGroup",
    "QueriesAnswer",
    "QueriesRequest",
    "SearchAnswer",
    "SearchRequest",
    "StaleHits",
    "SummaryType",
    "Verdict",
    "asearch_chunks",
    "search_artifacts",
    "search_chunks",
    "search_hierarchical",
    "search_images",
    "search_queries",
    "search_questions",
    "search_structures",
    "search_summaries",
]
