"""Calls retrievers with an index, a query and options together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from indexing.models import IndexBuild
from retrieval.retrievers import ChunkRetriever, QuestionRetriever, SummaryRetriever
from retrieval.search import SearchAnswer, SearchOptions, SummaryType


@dataclass(frozen=True, kw_only=True)
class SearchRequest(SearchOptions):
    indexes: Sequence[str | IndexBuild]
    query: str


def search_chunks(request: SearchRequest) -> SearchAnswer:
    return _search(ChunkRetriever, request)


def search_questions(request: SearchRequest) -> SearchAnswer:
    return _search(QuestionRetriever, request)


def search_summaries(request: SearchRequest, type: SummaryType = SummaryType.ALL) -> SearchAnswer:
    return _search(SummaryRetriever, request, type=type)


def _search(retriever, request, **options):
    given = asdict(request)
    indexes, query = given.pop("indexes"), given.pop("query")
    for name, default in asdict(SearchOptions()).items():
        if given[name] != default:
            options[name] = given[name]
    return retriever(indexes, **options).search(query)
