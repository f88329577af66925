"""Retriever of chunks by way of the summaries, questions and concepts above them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from core.exceptions import InvalidInput
from indexing.models import IndexBuild
from retrieval.retrievers.base import MODE_OPTIONS
from retrieval.retrievers.knowledge import ConceptRetriever
from retrieval.retrievers.ranked import (
    ChunkRetriever,
    PassageRetriever,
    QuestionRetriever,
    SummaryRetriever,
)
from retrieval.search import SearchAnswer
from retrieval.search.run import add_up, fuse_by_rank
from retrieval.search.targets import find_builds

_MAX_CONCEPTS = 30  # with three quotes each; a filter may compare 200 values


class RecursiveChunkRetriever(PassageRetriever):
    """The chunks below the summaries, questions and concepts that answer a query.

    The best ``limit`` nodes of each kind that an index holds lead to the chunks of their pages,
    artifacts, sources or quotes, which are ranked by the query. Scores are the reciprocal ranks in
    the rankings of all kinds, fused. ``kinds`` restricts the nodes to begin with.
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
        """Raises ``InvalidInput``: an index holds no chunks, or none of the kinds above them."""
        options = {name: getattr(self.options, name) for name in self.takes}
        answers = []
        for kind, indexes in self._group_indexes().items():
            if below := self._find_below(kind, indexes, query, options):
                filters = [each for each in (self.options.filter, {"any_of": below}) if each]
                restricted = options | {"filter": {"all_of": filters}}
                chunks = ChunkRetriever(indexes, grant=self.grant, **restricted)
                answers.append(chunks.search(query))
        builds = find_builds(self.indexes, self.grant)
        return SearchAnswer(
            builds={name: build.number if build else None for name, build in builds.items()},
            score_kind="rrf",
            hits=fuse_by_rank([answer.hits for answer in answers], self.options.limit),
            **add_up(answers),
        )

    def _group_indexes(self) -> dict[str, list[str | IndexBuild]]:
        """The indexes that hold each kind to begin with."""
        groups: dict[str, list[str | IndexBuild]] = {}
        for index in self.indexes:
            [(name, build)] = find_builds([index], self.grant).items()
            kinds = set(build.spec.kinds) if build else set()
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

    def _find_below(
        self, kind: str, indexes: Sequence[str | IndexBuild], query: str, options: Mapping[str, Any]
    ) -> list[dict[str, list[str]]]:
        """Filters for the chunks below the best nodes of one kind."""
        if kind == "concept":
            count = min(self.options.limit, _MAX_CONCEPTS)
            concepts = ConceptRetriever(indexes, grant=self.grant, limit=count).search(query).found
            quotes = [quote for hit in concepts for quote in hit.instances]
            below = {"source_id": [str(each.source_id) for each in quotes if each.source_id]}
        elif kind == "question":
            hits = QuestionRetriever(indexes, grant=self.grant, **options).search(query).hits
            below = {"source_id": [hit.payload["source_id"] for hit in hits]}
        else:
            hits = SummaryRetriever(indexes, grant=self.grant, **options).search(query).hits
            pages = [hit.payload["page_id"] for hit in hits if hit.payload["page_id"]]
            artifacts = [hit.payload["artifact_id"] for hit in hits if not hit.payload["page_id"]]
            below = {"page_id": pages, "artifact_id": artifacts}
        return [{field: list(dict.fromkeys(ids))} for field, ids in below.items() if ids]
