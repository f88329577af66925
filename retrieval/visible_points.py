"""The only way in which searches read points: what a grant includes, and nothing else.

A test checks that no other module of ``retrieval`` or ``evidence`` asks the store.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from access.grants import EVERYONE, Grant
from indexing.stores import (
    AllOf,
    Filter,
    Match,
    Query,
    ScoredPoint,
    StoredPoint,
    VectorStore,
    get_store,
)

GROUPS_FIELD = "groups"


@dataclass(frozen=True, slots=True)
class VisiblePoints:
    """The points of the store that the grant includes: those without groups, and those with one of
    the grant's. Their payloads may be older than a change of the groups, so hits are checked again
    by their rows. Terms are counted in these points only, because otherwise the scores would depend
    on hidden documents. Methods as those of ``VectorStore``."""

    grant: Grant

    @property
    def store(self) -> VectorStore:
        return get_store()

    def search(self, name: str, query: Query) -> list[ScoredPoint]:
        [found] = self.search_many([(name, query)])
        return found

    def search_many(self, requests: Sequence[tuple[str, Query]]) -> list[list[ScoredPoint]]:
        if self.grant.groups is not None:
            visible = self._restrict(None)
            requests = [
                (name, replace(query, filter=self._restrict(query.filter), corpus=visible))
                for name, query in requests
            ]
        return self.store.search_many(requests)

    def retrieve(
        self, name: str, ids: Sequence[UUID], *, with_vectors: bool = False
    ) -> dict[UUID, StoredPoint]:
        found = self.store.retrieve(name, ids, with_vectors=with_vectors)
        if self.grant.groups is None:
            return found
        visible = {EVERYONE, *self.grant.groups}
        return {
            id: point
            for id, point in found.items()
            if not visible.isdisjoint(point.payload.get(GROUPS_FIELD, ()))
        }

    def count(self, name: str, filter: Filter | None = None) -> int:
        return self.store.count(name, self._restrict(filter))

    def facet(
        self, name: str, field: str, *, limit: int, filter: Filter | None = None
    ) -> dict[str, int]:
        return self.store.facet(name, field, limit=limit, filter=self._restrict(filter))

    def wait_for_replicas(self) -> bool:
        return self.store.wait_for_replicas()

    def _restrict(self, filter: Filter | None) -> Filter | None:
        if self.grant.groups is None:
            return filter
        visible = Match(GROUPS_FIELD, [EVERYONE, *sorted(self.grant.groups)])
        return visible if filter is None else AllOf([filter, visible])
