"""Retriever of chunks by way of the summaries, questions and concepts above them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.retrievers import BaseRetriever, RecursiveRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle

from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from retrieval.fusion import reciprocal_rank_fusion
from retrieval.knowledge.concepts import ConceptHit
from retrieval.knowledge.query import KnowledgeAnswer
from retrieval.retrievers.base import MODE_OPTIONS, IndexRetriever
from retrieval.retrievers.knowledge import ConceptRetriever
from retrieval.retrievers.ranked import (
    ChunkRetriever,
    PassageRetriever,
    QuestionRetriever,
    SummaryRetriever,
)
from retrieval.search import SearchAnswer
from retrieval.search.run import add_up
from retrieval.search.targets import find_builds, parse_recipe

_ENTRANCE, _CHUNKS = "entrance", "chunks"  # ids of the two retrievers of a RecursiveRetriever
ENTRANCE_KINDS = ("page_summary", "question", "concept")
_MAX_CONCEPTS = 30  # with three quotes each; a filter may compare 200 values


class RecursiveChunkRetriever(PassageRetriever):
    """The chunks below the summaries, questions and concepts that answer a query.

    LlamaIndex's ``RecursiveRetriever`` goes from the best ``limit`` nodes of each kind that an
    index holds to the chunks of their pages, artifacts, sources or quotes, and ranks these by the
    query. Scores are the reciprocal ranks in the rankings of all kinds, fused. ``kinds`` restricts
    the nodes to begin with, by default summaries, questions and concepts.
    """

    takes = MODE_OPTIONS - {"explain"}  # a score fuses several searches

    def __init__(
        self, index: Any, *, kinds: Collection[str] = ENTRANCE_KINDS, **options: Any
    ) -> None:
        super().__init__(index, **options)
        self.kinds = kinds

    def search(self, query: str) -> SearchAnswer:
        """
        Raises:
            InvalidInput: an index holds no chunks, or none of the kinds above them.
            And as ``ChunkRetriever.search``.
        """
        answers = [
            answer
            for kind, indexes in self._group_indexes().items()
            if (answer := self._descend(kind, indexes, query)) is not None
        ]
        return self._fuse(answers)

    def _group_indexes(self) -> dict[str, list[str | IndexBuild]]:
        """The indexes that hold each kind of entrance."""
        groups: dict[str, list[str | IndexBuild]] = {}
        for index in self.indexes:
            [(name, build)] = find_builds([index], self.grant).items()
            kinds = set(parse_recipe(build.recipe).kinds) if build else set()
            held = [kind for kind in self.kinds if kind in kinds]
            if build is not None and not ("chunk" in kinds and held):
                raise InvalidInput(
                    f"The index {name} holds no chunks below summaries, questions or concepts.",
                    field="index",
                    fix="Search its passages, or declare summaries, questions or concepts.",
                )
            for kind in held:
                groups.setdefault(kind, []).append(index)
        return groups

    def _descend(
        self, kind: str, indexes: Sequence[str | IndexBuild], query: str
    ) -> SearchAnswer | None:
        """Search the chunks below the nodes of one kind; None if no node was found."""
        options = {name: getattr(self.options, name) for name in self.takes}
        chunks = _ChunksBelow(indexes, grant=self.grant, **options)
        entrance: BaseRetriever
        if kind == "concept":
            count = min(self.options.limit, _MAX_CONCEPTS)
            concepts = ConceptRetriever(indexes, grant=self.grant, limit=count)
            entrance = _Entrance(concepts, _find_quoted_sources, chunks)
        elif kind == "question":
            questions = QuestionRetriever(indexes, grant=self.grant, **options)
            entrance = _Entrance(questions, _find_sources, chunks)
        else:
            summaries = SummaryRetriever(indexes, grant=self.grant, **options)
            entrance = _Entrance(summaries, _find_summarised, chunks)
        RecursiveRetriever(_ENTRANCE, {_ENTRANCE: entrance, _CHUNKS: chunks}).retrieve(query)
        return chunks.answer

    def _fuse(self, answers: Sequence[SearchAnswer]) -> SearchAnswer:
        hits = {str(hit.node_id): hit for answer in answers for hit in answer.hits}
        rankings = [[str(hit.node_id) for hit in answer.hits] for answer in answers]
        fused = reciprocal_rank_fusion(rankings)[: self.options.limit]
        builds = find_builds(self.indexes, self.grant)
        return SearchAnswer(
            builds={name: build.number if build else None for name, build in builds.items()},
            score_kind="rrf",
            hits=[replace(hits[id], score=score) for id, score in fused],
            **add_up(answers),
        )


class _Entrance(BaseRetriever):
    """Finds nodes that lead to chunks, and restricts ``chunks`` to those below them."""

    def __init__(
        self,
        retriever: IndexRetriever[Any],
        find_below: Callable[[Any], Mapping[str, Sequence[str]]],
        chunks: "_ChunksBelow",
    ) -> None:
        super().__init__()
        self._retriever = retriever
        self._find_below = find_below
        self._chunks = chunks

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = self._retriever.search(query_bundle.query_str)
        below = {name: ids for name, ids in self._find_below(answer).items() if ids}
        if not below:
            return []
        self._chunks.restrict({"any_of": [{name: ids} for name, ids in below.items()]})
        return [
            NodeWithScore(
                node=IndexNode(id_=each.node.node_id, text=each.text, index_id=_CHUNKS),
                score=each.score,
            )
            for each in self._retriever.to_nodes(answer)
        ]


class _ChunksBelow(ChunkRetriever):
    """Keeps its last answer, which has more than the nodes."""

    answer: SearchAnswer | None = None

    def restrict(self, below: Mapping[str, Any]) -> None:
        given = self.options.filter
        self.options = replace(self.options, filter={"all_of": [given, below]} if given else below)

    def search(self, query: str) -> SearchAnswer:
        self.answer = super().search(query)
        return self.answer


def _find_summarised(answer: SearchAnswer) -> Mapping[str, Sequence[str]]:
    pages = [hit.payload["page_id"] for hit in answer.hits if hit.payload["page_id"]]
    artifacts = [hit.payload["artifact_id"] for hit in answer.hits if not hit.payload["page_id"]]
    return {"page_id": pages, "artifact_id": artifacts}


def _find_sources(answer: SearchAnswer) -> Mapping[str, Sequence[str]]:
    return {"source_id": list({hit.payload["source_id"]: None for hit in answer.hits})}


def _find_quoted_sources(answer: KnowledgeAnswer[list[ConceptHit]]) -> Mapping[str, Sequence[str]]:
    quotes = [quote for hit in answer.found for quote in hit.instances]
    return {"source_id": list({str(quote.source_id): None for quote in quotes if quote.source_id})}
