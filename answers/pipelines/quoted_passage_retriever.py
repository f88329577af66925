"""Pipeline component that adds the passages that are quoted by what a question is about."""

from dataclasses import replace
from typing import Any

from haystack import component

from access.grants import EVERYTHING, Grant
from answers.asking import QueryRanking
from answers.pipelines.run_async import add_run_async
from indexing.kinds import KINDS
from retrieval.passages import Passage
from retrieval.retrievers import RecursiveChunkRetriever
from retrieval.search import Versions
from retrieval.search.query_syntax import ReadQuery
from retrieval.search.targets import find_builds


@component
@add_run_async
class QuotedPassageRetriever:
    """Add one ranking: the passages that the nearest nodes of kinds with quotes quote, best first.

    Fused with the other rankings, it raises passages about what the question is about, whatever
    their words. An index without such kinds keeps its rankings.
    """

    @component.output_types(rankings=list[QueryRanking])
    def run(
        self,
        index: str,
        query: str,
        rankings: list[QueryRanking],
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        versions: str = Versions.NEWEST,
        grant: Grant = EVERYTHING,
        read: ReadQuery | None = None,
    ) -> dict[str, Any]:
        build = find_builds([index], grant)[index]
        kinds = build.spec.kinds if build is not None else ()
        quoting = [kind for kind in kinds if KINDS[kind].find_places]
        if "chunk" not in kinds or not quoting:
            return {"rankings": rankings}
        retriever = RecursiveChunkRetriever(
            index,
            kinds=quoting,
            is_below_only=True,
            grant=grant,
            limit=limit,
            filter=filter,
            versions=versions,
            read=read and replace(read, text=query),
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
        return {"rankings": [*rankings, QueryRanking(f"quotes: {query}", passages)]}
