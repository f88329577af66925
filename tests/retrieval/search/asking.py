"""Calls retrievers with the parameters of a request."""

from dataclasses import asdict

from retrieval.retrievers import ChunkRetriever, QuestionRetriever, SummaryRetriever
from retrieval.search import SearchAnswer, SearchRequest, SummaryType


def search_chunks(request: SearchRequest) -> SearchAnswer:
    return _search(ChunkRetriever, request)


def search_questions(request: SearchRequest) -> SearchAnswer:
    return _search(QuestionRetriever, request)


def search_summaries(request: SearchRequest, type: SummaryType = SummaryType.ALL) -> SearchAnswer:
    return _search(SummaryRetriever, request, type=type)


def _search(retriever, request, **options):
    given = asdict(request)
    indexes, query, top_k = given.pop("indexes"), given.pop("query"), given.pop("limit")
    return retriever(indexes, top_k=top_k, **given, **options).search(query)
