"""A query that is embedded once and searches nodes of several kinds, and its answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar
from uuid import UUID

from access.grants import Grant
from concepts.models import Concept, RelationshipType
from core.stages import stage
from indexing.models import IndexBuild
from indexing.stores import DenseVector
from retrieval.search.flat import MIN_REFILL_POINTS, count_final, drop_repeated_chunks
from retrieval.search.hit_checks import Verdict
from retrieval.search.query_vectors import embed_query
from retrieval.search.ranking import measure_similarities
from retrieval.search.reading import explain_unread_syntax
from retrieval.search.request import Mode, SearchOptions
from retrieval.search.run import AnyAnswer, Hit, SearchRun
from retrieval.search.targets import (
    Candidate,
    PointKey,
    merge_candidates,
    require_same_model,
    set_given_vector,
    set_query_terms,
)
from retrieval.search.versions import fold_versions

_EXTRA_HITS = 2  # hits fetched in addition, to replace dropped ones
_MAX_FETCHES = 8  # from the store, until enough chunks are similar enough
_ENTITIES: dict[str, type[Concept] | type[RelationshipType]] = {
    "concept": Concept,
    "relationship_type": RelationshipType,
}


@dataclass(frozen=True, slots=True)
class EntityScore:
    """A concept or a relationship type that a query found. ``verdict`` is None if it was read from
    the database, not from the vector store."""

    pk: UUID
    score: float
    verdict: Verdict | None


class KnowledgeQuery(SearchRun):
    """A query, or a vector of the indexes' model, that finds the nearest nodes of any kind. Raises
    ``InvalidInput`` also if the indexes do not share a model."""

    def __init__(
        self,
        indexes: Sequence[str | IndexBuild],
        query: str = "",
        *,
        grant: Grant,
        vector: DenseVector | None = None,
    ) -> None:
        options = SearchOptions(vector=vector)
        super().__init__(indexes, [query], options, grant)
        self.query, self.vector = query, options.vector
        self.notes += explain_unread_syntax(query, self.builds.values())
        self._has_given_vector = vector is not None

    @stage("retriever", "RETRIEVER")
    def find(self, kind: str, options: SearchOptions) -> list[EntityScore]:
        """The nearest concepts or relationship types that can be served, best first; ties by id.
        Those that the query or one of its parts between commas names come first, with similarity
        1, embedded or not. ``limit``, ``offset`` and ``min_similarity`` of the options apply."""
        self._set_targets(kind, SearchOptions(mode=Mode.DENSE, min_score=options.min_similarity))
        count = fetched = options.offset + options.limit
        served = self._find_served(fetched)
        # The database, not the store, knows which concepts a grant includes. A bound would leave
        # fewer hits than there are, which shows that others are hidden.
        while count_final(served, self.targets) < count and self.has_more:
            # From the first again: equal scores may be ordered otherwise in a longer answer.
            for target in self.targets:
                target.reset()
            fetched = max(2 * fetched, MIN_REFILL_POINTS)
            served = self._find_served(fetched)
        [hits] = self.make_hits(served[:count])
        verdicts = {hit.node_id: hit.verdict for hit in hits}
        found = [EntityScore(pk, 1.0, verdicts.get(pk)) for pk in self._find_named(kind)]
        named_ids = {each.pk for each in found}
        found += [
            EntityScore(hit.node_id, hit.score, hit.verdict)
            for hit in hits
            if hit.node_id not in named_ids
        ]
        return found[options.offset : count]

    def _find_named(self, kind: str) -> Iterable[UUID]:
        if kind not in _ENTITIES:  # a relationship has no name
            return []
        names = {self.query, *self.query.split(",")} - {""}
        indexes = [name for name, build in self.builds.items() if build is not None]
        rows = _ENTITIES[kind].objects.visible_to(self.grant).filter(index__in=indexes)
        return rows.find_named(names)

    @stage("retriever", "RETRIEVER")
    def find_chunks(self, count: int, options: SearchOptions) -> list[tuple[Hit, float]]:
        """The ``count`` best chunks that can be served, by the scores of a mode, each with its
        cosine. The same text, cut by several strategies, is one chunk."""
        mode, min_similarity = options.mode, options.min_similarity
        lowest = min_similarity if mode == Mode.DENSE else None
        self._set_targets("chunk", replace(options, min_score=lowest))
        for target in self.targets:
            target.depth, target.needs_ranks = count, True
        found: list[Candidate] = []
        similarities: dict[PointKey, float] = {}
        for _ in range(_MAX_FETCHES):
            served = drop_repeated_chunks(self._find_served(count))
            served = fold_versions(served, options.versions)
            if mode == Mode.DENSE:
                similarities = {each.key: each.point.score for each in served}
            else:
                with self.stage("search"):
                    [similarities] = measure_similarities([served])
            found = [
                each
                for each in served
                if each.key in similarities
                and (min_similarity is None or similarities[each.key] >= min_similarity)
            ]
            if len(found) >= count or not self.has_more:
                break
        [hits] = self.make_hits(found[:count])
        return [(hit, similarities[each.key]) for hit, each in zip(hits, found, strict=False)]

    def _set_targets(self, kind: str, options: SearchOptions) -> None:
        self.options = options
        self.targets = []
        targets = self.add_targets([kind], self.query)
        require_same_model(targets)
        with self.stage("embed"):
            if self.vector is None and targets:
                self.vector = embed_query(targets[0].embedding, targets[0].query_text)
            if self.vector is not None:  # in a sparse search too: its hits have a cosine
                set_given_vector(targets, self.vector)
            weighs_rankings = not self._has_given_vector
            self.notes += set_query_terms(options.mode, targets, weighs_rankings=weighs_rankings)

    def _find_served(self, count: int) -> list[Candidate]:
        """Fetch the next ``count`` points, and return all points so far that can be served."""

        def fetch_and_check() -> list[Candidate]:
            with self.stage("search"):
                self.fetch(self.targets, count + _EXTRA_HITS)
                ranking = merge_candidates(self.targets)
            with self.stage("verify"):
                return self.keep_served(ranking)

        return self.rank(fetch_and_check)


Found = TypeVar("Found", covariant=True)


@dataclass(frozen=True, kw_only=True)
class KnowledgeAnswer(AnyAnswer, Generic[Found]):
    found: Found
