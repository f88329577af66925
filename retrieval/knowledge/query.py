"""A query that is embedded once and searches nodes of several kinds."""

from collections.abc import Sequence
from uuid import UUID

from access.grants import Grant
from indexing.models import IndexBuild
from indexing.stores import DenseVector
from retrieval.search.flat import Hit, Stopwatch, make_hit
from retrieval.search.hit_checks import HitChecks
from retrieval.search.ranking import fetch_points
from retrieval.search.request import Mode, StaleHitPolicy, check_query
from retrieval.search.targets import (
    Candidate,
    Target,
    find_builds,
    make_targets,
    merge_candidates,
    require_same_model,
    set_query_vectors,
)

_EXTRA_HITS = 2  # hits fetched in addition, to replace dropped ones


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
        self._proof = HitChecks()
        self._stopwatch = Stopwatch()

    @property
    def builds(self) -> dict[str, int | None]:
        return {name: build.number if build else None for name, build in self._builds.items()}

    @property
    def stale_ids(self) -> list[UUID]:
        return sorted(self._proof.stale_ids)

    @property
    def took_ms(self) -> dict[str, float]:
        return self._stopwatch.took_ms()

    def find(self, kind: str, count: int, *, min_similarity: float | None = None) -> list[Hit]:
        """The ``count`` nearest nodes of a kind that can be served, best first; ties by id.

        Raises:
            InvalidInput: an index holds no such nodes.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        targets = make_targets(self._builds.values(), (kind,), None)
        require_same_model(targets)
        self._embed_query(targets)
        ranking = self._search_and_check(targets, count, min_similarity)
        if orphans := {found.key for found in ranking} & self._proof.orphans:
            # Most likely points were replaced between reading store and ledger. Search once more.
            self._proof.orphans -= orphans
            for target in targets:
                target.reset()
            ranking = self._search_and_check(targets, count, min_similarity)
        served = [found for found in ranking if self._proof.is_served(found, StaleHitPolicy.FLAG)]
        return [make_hit(found, self._proof, {}) for found in served[:count]]

    def _embed_query(self, targets: Sequence[Target]) -> None:
        self._stopwatch.start()
        if self.vector is None and targets:
            set_query_vectors(self.query, Mode.DENSE, targets[:1])
            self.vector = targets[0].dense
        for target in targets:
            target.dense = self.vector
        self._stopwatch.lap("embed")

    def _search_and_check(
        self, targets: Sequence[Target], count: int, min_similarity: float | None
    ) -> list[Candidate]:
        fetch_count = count + _EXTRA_HITS
        fetch_points(targets, Mode.DENSE, fetch_count, min_score=min_similarity)
        ranking = merge_candidates(targets)
        self._stopwatch.lap("search")
        self._proof.check(ranking)
        self._stopwatch.lap("verify")
        return ranking
