"""Pipeline component that adds the passages quoted by the concepts a question is about."""

from typing import Any

from haystack import component

from access.grants import EVERYTHING, Grant
from answers.asking import QueryRanking
from answers.pipelines.run_async import add_run_async
from retrieval.passages import Passage
from retrieval.retrievers import RecursiveChunkRetriever
from retrieval.search.targets import find_builds


@component
@add_run_async
class QuotedPassageRetriever:
    """Add one ranking: the passages that the nearest concepts and relationships quote, best first.

    Fused with the other rankings, it raises passages about the concepts of the question, whatever
    their words. An index without concepts keeps its rankings.
    """

    @component.output_types(rankings=list[QueryRanking])
    def run(
        self,
        index: str,
        query: str,
        rankings: list[QueryRanking],
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        grant: Grant = EVERYTHING,
    ) -> dict[str, Any]:
        build = find_builds([index], grant)[index]
        if build is None or not {"chunk", "concept"} <= set(build.spec.kinds):
            return {"rankings": rankings}
        retriever = RecursiveChunkRetriever(
            index,
            kinds=["concept", "relationship"],
            is_below_only=True,
            grant=grant,
            limit=limit,
            filter=filter,
        )
        passages = []
        for rank, hit in enumerate(retriever.search(query).hits, start=1):
            step = {
                "component": "quoted_passage_retriever",
                "query": query,
                "filter": filter,
                "rank": rank,
                "score": hit.score,
            }
            passages.append(Passage(hit, hit.score, "rrf", steps=(step,)))
        return {"rankings": [*rankings, QueryRanking(f"concepts: {query}", passages)]}
