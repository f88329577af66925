"""Searches the nodes of an index and checks every hit.

HTTP views, retrievers, tools and commands all search through this package.

    request.py        the parameters of a search, and their limits
    targets.py        the collections that a search asks, and the candidates they return
    hit_checks.py     compares every candidate with the document as it is now
    flat.py           one ranking of one kind of node: chunks, summaries, questions
    multi_query.py    several queries at once, a ranking of passages for each
    hierarchy.py      summaries and chunks at once, grouped by artifact and page
    vector_spaces.py  artifacts found in several vector spaces, fused by rank
    structures.py     artifacts by chemical structures and chunks
    images.py         artifacts by images and chunks
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
    MultiQueryAnswer,
    MultiQueryRequest,
    search_by_queries,
)
from retrieval.search.request import (
    MAX_INDEXES,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY_CHARS,
    SCORE_KINDS,
    Mode,
    SearchRequest,
    StaleHitPolicy,
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
    "MultiQueryAnswer",
    "MultiQueryRequest",
    "PageGroup",
    "SearchAnswer",
    "SearchRequest",
    "StaleHitPolicy",
    "SummaryType",
    "Verdict",
    "asearch_chunks",
    "search_artifacts",
    "search_by_queries",
    "search_chunks",
    "search_hierarchical",
    "search_images",
    "search_questions",
    "search_structures",
    "search_summaries",
]
