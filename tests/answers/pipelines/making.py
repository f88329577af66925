"""Makes passages as a retriever returns them, without an index."""

from typing import Any
from uuid import UUID

from answers.asking import QueryRanking
from indexing.spec import IndexSpec
from retrieval.passages import Passage
from retrieval.search import Hit, Verdict

SPEC = IndexSpec(name="notes")


def make_passage(
    name: str,
    *,
    artifact: str | None = None,
    score: float = 1.0,
    similarity: float | None = 0.5,
    **payload: Any,
) -> Passage:
    """Make a passage whose text is its name, a single letter."""
    hit = Hit(
        node_id=node_id(name),
        index="notes",
        build_id=1,
        score=score,
        payload={
            "kind": "chunk",
            "artifact_id": str(node_id(artifact or name)),
            "artifact_title": "",
            "text": name,
            **payload,
        },
        verdict=Verdict.EXACT,
        spec=SPEC,
    )
    step = {"component": "multi_query_retriever", "of": name}
    return Passage(hit, score, "rrf", similarity, (step,))


def make_ranking(query: str, *passages: Passage) -> QueryRanking:
    return QueryRanking(query, list(passages))


def node_id(name: str) -> UUID:
    return UUID(int=ord(name))


def names(passages: list[Passage]) -> list[str]:
    return [passage.hit.payload["text"] for passage in passages]
