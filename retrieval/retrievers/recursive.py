"""Retriever of chunks by way of the summaries, questions and concepts above them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from retrieval.fusion import reciprocal_rank_fusion
from retrieval.retrievers.base import MODE_OPTIONS
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

_MAX_CONCEPTS = 30  # with three quotes each; a filter may compare 200 values


class RecursiveChunkRetriever(PassageRetriever):
    """The chunks below the summaries, questions and concepts that answer a query.

    From the best ``limit`` nodes of each kind that an index holds it goes to the chunks of their
    pages, artifacts, sources or quotes, and ranks these by the query. Scores are the reciprocal
    ranks in the rankings of all kinds, fused. ``kinds`` restricts the nodes to begin with.
    """

    takes = MODE_OPTIONS - {"explain"}  # a score fuses several searches

    def __init__(
        self,
        index: Any,
        *,
        kinds: Collection[str] = ("page_summary", "question", "concept"),
        **options: Any,
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
        below = self._find_below(kind, indexes, query, options)
        conditions = [{name: list(dict.fromkeys(ids))} for name, ids in below.items() if ids]
        if not conditions:
            return None
        is_below, given = {"any_of": conditions}, options["filter"]
        options["filter"] = {"all_of": [given, is_below]} if given else is_below
        return ChunkRetriever(indexes, grant=self.grant, **options).search(query)

    def _find_below(
        self, kind: str, indexes: Sequence[str | IndexBuild], query: str, options: dict[str, Any]
    ) -> dict[str, list[str]]:
        """The pages, artifacts or sources of the best nodes of one kind: field -> ids."""
        if kind == "concept":
            limit = min(self.options.limit, _MAX_CONCEPTS)
            concepts = ConceptRetriever(indexes, grant=self.grant, limit=limit).search(query).found
            quotes = [quote for concept in concepts for quote in concept.instances]
            return {"source_id": [str(each.source_id) for each in quotes if each.source_id]}
        retriever = QuestionRetriever if kind == "question" else SummaryRetriever
        answer = retriever(indexes, grant=self.grant, **options).search(query)
        payloads = [hit.payload for hit in answer.hits]
        if kind == "question":
            return {"source_id": [payload["source_id"] for payload in payloads]}
        return {
            "page_id": [each["page_id"] for each in payloads if each["page_id"]],
            "artifact_id": [each["artifact_id"] for each in payloads if not each["page_id"]],
        }

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
