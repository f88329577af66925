"""One query, embedded once, against nodes of several kinds."""

from collections.abc import Sequence
from uuid import UUID

from indexing.stores import DenseVector, get_store
from retrieval.search.flat import Hit, Stopwatch, make_hit
from retrieval.search.hit_checks import Proof
from retrieval.search.request import Mode, Stale, check_query
from retrieval.search.targets import Found, Target, encode, find_builds, make_targets, merge

_MARGIN = 2  # fetched beyond what is wanted, lest the odd one dropped is missed


class Nearest:
    """What lies near a query, or near a vector of the indexes' own model, in some indexes.

    Raises:
        InvalidInput: the query is blank or too long; the indexes do not share a model.
        UnknownIndex: with the names there are.
    """

    def __init__(
        self, indexes: Sequence[str], query: str = "", *, vector: DenseVector | None = None
    ) -> None:
        if vector is None:
            check_query(indexes, query)
        self.query, self.vector = query, vector
        self._builds = find_builds(indexes)
        self._proof = Proof()
        self._watch = Stopwatch()

    @property
    def builds(self) -> dict[str, int | None]:
        return {name: build.number if build else None for name, build in self._builds.items()}

    @property
    def stale_artifact_ids(self) -> list[UUID]:
        return sorted(self._proof.stale_artifact_ids)

    @property
    def took_ms(self) -> dict[str, float]:
        return self._watch.took_ms()

    def find(self, kind: str, count: int, *, min_similarity: float | None = None) -> list[Hit]:
        """The ``count`` nearest nodes of a kind that can be served, best first; ties by id.

        Raises:
            InvalidInput: an index holds no such nodes.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        targets = make_targets(self._builds.values(), (kind,), None)
        self._encode(targets)
        ranking = self._rank(targets, count, min_similarity)
        if orphans := {found.key for found in ranking} & self._proof.orphans:
            # Replaced between our looks into store and ledger, most likely: what is there now?
            self._proof.orphans -= orphans
            for target in targets:
                target.forget()
            ranking = self._rank(targets, count, min_similarity)
        served = [found for found in ranking if self._proof.serves(found, Stale.FLAG)]
        return [make_hit(found, self._proof, {}) for found in served[:count]]

    def _encode(self, targets: Sequence[Target]) -> None:
        self._watch.start()
        if self.vector is None and targets:
            encode(self.query, Mode.DENSE, targets[:1])
            self.vector = targets[0].dense
        for target in targets:
            target.dense = self.vector
        self._watch.lap("embed")

    def _rank(
        self, targets: Sequence[Target], count: int, min_similarity: float | None
    ) -> list[Found]:
        most = count + _MARGIN
        answers = get_store().search_many(
            [(t.collection, t.query(Mode.DENSE, most, min_similarity)) for t in targets]
        )
        for target, points in zip(targets, answers, strict=True):
            target.take(points, most)
        ranking = merge(targets)
        self._watch.lap("search")
        self._proof.judge(ranking)
        self._watch.lap("verify")
        return ranking
