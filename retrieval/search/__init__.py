"""Searches the nodes of an index and checks every hit.

Only retrievers, also those of other apps, search through this package. What embeds
queries or reads points raises as ``IndexRetriever.search``.

    request.py        the query and the options of a search, and their limits
    query_syntax.py   what is typed in a query beside its words, and finding words in a text
    reading.py        reads a query with the fields of the indexes
    run.py            what every way of searching goes through, and says in its answer
    targets.py        the collections to search, and the candidates they return
    ranking.py        fetches the points of these collections, best first, with their cosines
    hit_checks.py     compares every candidate with the document as it is now
    flat.py           one ranking of one kind of node: chunks, summaries, questions
    multi_query.py    several queries at once, a ranking of passages for each
    versions.py       folds versions and copies of a passage into one hit
    hierarchy.py      summaries and chunks at once, grouped by artifact and page
    query_weights.py  how much each ranking counts for a query
    long_queries.py   embeds queries that are longer than the model's window, by their parts
    query_vectors.py  embeds queries with their synonyms; by words where a model's endpoint fails
"""

from retrieval.search.flat import SearchAnswer
from retrieval.search.hierarchy import (
    DEFAULT_ARTIFACTS,
    MAX_ARTIFACTS,
    ArtifactGroup,
    HierarchicalAnswer,
    PageGroup,
)
from retrieval.search.hit_checks import DroppedPoints, Verdict
from retrieval.search.multi_query import MAX_CANDIDATES, MAX_QUERIES, MultiQueryAnswer
from retrieval.search.query_syntax import MAX_CONDITION_CHARS, MAX_CONDITIONS
from retrieval.search.query_vectors import require_vectors
from retrieval.search.request import (
    MAX_DIMENSION,
    MAX_INDEXES,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY_CHARS,
    SCORE_KINDS,
    GroupBy,
    Mode,
    SearchOptions,
    StaleHitPolicy,
    SummaryType,
    Versions,
    read_vector,
)
from retrieval.search.run import Hit
from retrieval.search.targets import find_only_index
