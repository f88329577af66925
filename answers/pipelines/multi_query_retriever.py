"""Pipeline component that searches all wordings of a question at once."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from haystack import component

from access.grants import EVERYTHING, Grant
from answers.asking import QueryRanking
from answers.pipelines.empty_results import describe_empty_result
from answers.pipelines.run_async import add_run_async
from core.exceptions import InvalidInput
from documents.models import Source
from retrieval.passages import Passage
from retrieval.retrievers import QueriesRetriever
from retrieval.search import MAX_CANDIDATES, DroppedPoints, Hit, Mode, Versions
from retrieval.search.query_syntax import ReadQuery
from retrieval.search.request import name_score

MAX_MULTIPLIER = 100


@component
@add_run_async
@dataclass(eq=False, repr=False)
class MultiQueryRetriever:
    """Run one hybrid search per query, with the spec's weights, and verify every hit.

    Each search returns up to ``multiplier * limit`` passages, so that later components can choose;
    versions and copies of a passage are one.
    If none returns any, a note says which condition of the filter left nothing.
    """

    multiplier: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.multiplier <= MAX_MULTIPLIER:
            raise InvalidInput(
                f"multiplier must be between 1 and {MAX_MULTIPLIER}.", field="multiplier"
            )

    @component.output_types(
        rankings=list[QueryRanking],
        builds=dict[str, int | None],
        dropped=DroppedPoints,
        stale_ids=list[UUID],
        notes=list[str],
    )
    def run(
        self,
        index: str,
        queries: list[str],
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        versions: str = Versions.NEWEST,
        grant: Grant = EVERYTHING,
        read: ReadQuery | None = None,
    ) -> dict[str, Any]:
        multiplier = min(self.multiplier, max(1, MAX_CANDIDATES // limit))
        retriever = QueriesRetriever(
            index,
            grant=grant,
            limit=limit,
            multiplier=multiplier,
            filter=filter,
            versions=versions,
            read=read,
        )
        answer = retriever.search_queries(queries)
        headings = _read_headings(answer.rankings)
        notes = answer.notes
        if not any(answer.rankings):
            notes = [*notes, *describe_empty_result(index, filter, grant)]
        return {
            "rankings": [
                QueryRanking(
                    query,
                    [
                        _make_passage(query, rank, hit, filter, headings)
                        for rank, hit in enumerate(ranking, start=1)
                    ],
                )
                for query, ranking in zip(queries, answer.rankings, strict=True)
            ],
            "builds": answer.builds,
            "dropped": answer.dropped,
            "stale_ids": answer.stale_ids,
            "notes": notes,
        }


def _read_headings(rankings: Sequence[Sequence[Hit]]) -> dict[str, str]:
    """Source id -> its heading."""
    ids = {hit.payload["source_id"] for ranking in rankings for hit in ranking}
    found = Source.every_reading.filter(pk__in=ids).exclude(heading="").values_list("pk", "heading")
    return {str(source_id): heading for source_id, heading in found}


def _make_passage(
    query: str, rank: int, hit: Hit, filter: Mapping[str, Any] | None, headings: Mapping[str, str]
) -> Passage:
    """Turn a hit of a query into a passage, with its ranks and scores as the first step."""
    explanation = hit.explanation
    assert explanation is not None
    step = {
        "component": "multi_query_retriever",
        "query": query,
        "filter": filter,
        "rank": rank,
        "score": hit.score,
        "similarity": hit.similarity,
        "dense": explanation.dense and asdict(explanation.dense),
        "sparse": explanation.sparse and asdict(explanation.sparse),
    }
    return Passage(
        hit=hit,
        score=hit.score,
        score_kind=name_score(Mode.HYBRID, hit.spec.search.fusion, hit.spec.sparse),
        similarity=hit.similarity,
        steps=(step,),
        heading=headings.get(hit.payload["source_id"], ""),
    )
