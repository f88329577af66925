"""A query that is embedded once and searches nodes of several kinds."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from access.grants import Grant
from indexing.models import IndexBuild
from indexing.stores import DenseVector
from retrieval.search.flat import (
    MIN_REFILL_POINTS,
    Hit,
    Stopwatch,
    count_final,
    drop_repeated_chunks,
    make_hit,
)
from retrieval.search.hit_checks import HitChecks
from retrieval.search.ranking import fetch_points
from retrieval.search.request import Mode, StaleHitPolicy, check_query
from retrieval.search.similarity import measure_similarities
from retrieval.search.targets import (
    Candidate,
    PointKey,
    Target,
    find_builds,
    make_targets,
    merge_candidates,
    require_same_model,
    set_query_terms,
    set_query_vectors,
)

_EXTRA_HITS = 2  # hits fetched in addition, to replace dropped ones
_MAX_FETCHES = 8  # from the store, until enough chunks are similar enough


class KnowledgeQuery:
    """A query, or a vector of the indexes' model, that finds the nearest nodes of any kind.

    Raises:
        InvalidInput: the query is blank or too long; the indexes do not share a model.
        UnknownIndex: lists the known names.
    """

    def __init__(
        self,
        indexes: Sequence[str | IndexBuild],
        query: str = "",
        *,
        grant: Grant,
        vector: DenseVector | None = None,
    ) -> None:
        if vector is None:
            check_query(indexes, query)
        self.query, self.vector = query, vector
        self.grant = grant
        self._builds = find_builds(indexes, grant)
        self._hit_checks = HitChecks()
        self._stopwatch = Stopwatch()

    @property
    def builds(self) -> dict[str, int | None]:
        return {name: build.number if build else None for name, build in self._builds.items()}

    @property
    def stale_ids(self) -> list[UUID]:
        return sorted(self._hit_checks.stale_ids)

    @property
    def took_ms(self) -> dict[str, float]:
        return self._stopwatch.took_ms()

    def find(self, kind: str, count: int, *, min_similarity: float | None = None) -> list[Hit]:
        """The ``count`` nearest nodes of a kind that can be served, best first; ties by id.

        Raises:
            InvalidInput: an index holds no such nodes.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        targets = self._make_targets(kind, Mode.DENSE, None)
        fetched = count
        served = self._find_served(targets, Mode.DENSE, fetched, min_similarity)
        # The database, not the store, knows which concepts a grant includes. A bound would leave
        # fewer hits than there are, which shows that others are hidden.
        while count_final(served, targets) < count and any(each.has_more for each in targets):
            # From the first again: equal scores may be ordered otherwise in a longer answer.
            for target in targets:
                target.reset()
            fetched = max(2 * fetched, MIN_REFILL_POINTS)
            served = self._find_served(targets, Mode.DENSE, fetched, min_similarity)
        return [make_hit(found, self._hit_checks, {}) for found in served[:count]]

    def find_chunks(
        self,
        count: int,
        *,
        mode: Mode = Mode.DENSE,
        filter: Mapping[str, Any] | None = None,
        min_similarity: float | None = None,
    ) -> list[tuple[Hit, float]]:
        """The ``count`` best chunks that can be served, by the scores of a mode, each with its
        cosine. The same text, cut by several strategies, is one chunk. ``filter`` has the API's
        syntax.

        Raises:
            InvalidInput: an index holds no chunks, or the filter is wrong.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        targets = self._make_targets("chunk", mode, filter)
        for target in targets:
            target.depth, target.needs_ranks = count, True
        lowest = min_similarity if mode == Mode.DENSE else None
        hits: list[tuple[Hit, float]] = []
        for _ in range(_MAX_FETCHES):
            served = drop_repeated_chunks(self._find_served(targets, mode, count, lowest))
            similarities = self._measure(served, mode)
            hits = [
                (make_hit(found, self._hit_checks, {}), similarities[found.key])
                for found in served
                if found.key in similarities
                and (min_similarity is None or similarities[found.key] >= min_similarity)
            ]
            if len(hits) >= count or not any(target.has_more for target in targets):
                break
        return hits[:count]

    def _make_targets(
        self, kind: str, mode: Mode, filter: Mapping[str, Any] | None
    ) -> list[Target]:
        targets = make_targets(self._builds.values(), (kind,), filter)
        require_same_model(targets)
        self._stopwatch.start()
        if self.vector is None and targets:
            set_query_vectors(self.query, Mode.DENSE, targets[:1])
            self.vector = targets[0].dense
        for target in targets:
            target.dense = self.vector  # in a sparse search too: its hits have a cosine
        set_query_terms(self.query, mode, targets)
        self._stopwatch.lap("embed")
        return targets

    def _find_served(
        self, targets: Sequence[Target], mode: Mode, count: int, min_score: float | None
    ) -> list[Candidate]:
        """Fetch the next ``count`` points, and return all points so far that can be served."""
        ranking = self._fetch_and_check(targets, mode, count, min_score)
        if orphans := {found.key for found in ranking} & self._hit_checks.orphans:
            # Most likely points were replaced between reading store and ledger. Search once more.
            self._hit_checks.orphans -= orphans
            for target in targets:
                target.reset()
            ranking = self._fetch_and_check(targets, mode, count, min_score)
        return [
            found for found in ranking if self._hit_checks.is_served(found, StaleHitPolicy.FLAG)
        ]

    def _fetch_and_check(
        self, targets: Sequence[Target], mode: Mode, count: int, min_score: float | None
    ) -> list[Candidate]:
        fetch_points(targets, mode, count + _EXTRA_HITS, min_score=min_score)
        ranking = merge_candidates(targets)
        self._stopwatch.lap("search")
        self._hit_checks.check(ranking)
        self._stopwatch.lap("verify")
        return ranking

    def _measure(self, served: Sequence[Candidate], mode: Mode) -> dict[PointKey, float]:
        if mode == Mode.DENSE:
            return {found.key: found.point.score for found in served}
        [similarities] = measure_similarities([served])
        self._stopwatch.lap("search")
        return similarities
