"""Retriever of chunks by way of the nodes above them, such as summaries and questions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from django.utils.module_loading import import_string

from access.grants import Grant
from core.exceptions import InvalidInput
from indexing.kinds import KINDS
from indexing.models import IndexBuild
from indexing.stores import AnyOf, Filter, Match
from retrieval.retrievers.base import MODE_OPTIONS
from retrieval.retrievers.ranked import PassageRetriever, QuestionRetriever, SummaryRetriever
from retrieval.search import MAX_LIMIT, Hit, SearchAnswer, SearchOptions
from retrieval.search.flat import drop_repeated_chunks
from retrieval.search.query_syntax import ReadQuery
from retrieval.search.reading import read_search
from retrieval.search.run import AnyAnswer, add_up
from retrieval.search.targets import Candidate, find_builds
from retrieval.search.versions import fold_versions

KINDS_ABOVE = tuple(kind.name for kind in KINDS.values() if kind.is_above_chunks)
_NODES_ABOVE = 50  # of each kind, or as many as the wanted chunks
_NO_CONDITIONS: dict[str, Any] = {"must": (), "must_not": (), "phrases": ()}  # they are read
_WEIGHT_ABOVE = 0.05  # of the nodes above a chunk, beside the chunk's own score

Place = tuple[str, str]  # a payload field of chunks, and the id there
# How nodes of a kind are searched: their search, and where the best of them are, with scores.
Found = tuple[AnyAnswer, list[tuple[Place, float]]]
FindPlaces = Callable[[Sequence[str | IndexBuild], str, SearchOptions, Grant], Found]


class RecursiveChunkRetriever(PassageRetriever):
    """The chunks below the nodes of other kinds that answer a query, and those of the sources that
    answer it best by themselves.

    The best nodes of each kind that an index holds lead to the chunks of their pages, artifacts,
    sources or quotes. The score of a chunk is its own, as in a search of chunks, and for the nodes
    above it up to a twentieth of the best: a node counts by its similarity in proportion to that of
    the best of its kind (decision 96). ``kinds`` restricts the nodes to begin with; with
    ``is_below_only``, chunks that are below none of them are left out.
    """

    takes = MODE_OPTIONS - {"explain"}  # a score joins several searches

    def __init__(
        self,
        index: Any,
        *,
        kinds: Collection[str] = KINDS_ABOVE,
        is_below_only: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(index, **options)
        self.kinds = kinds
        self.is_below_only = is_below_only

    def search(self, query: str) -> SearchAnswer:
        """Search the kinds above the chunks, then the chunks below what is found, and answer with
        the best chunks. Raises ``InvalidInput``: an index holds no chunks, or none of the kinds
        above them."""
        builds = find_builds(self.indexes, self.grant).values()
        read = read_search(query, self.options, builds)
        above = [
            self._find_above(kind, indexes, read) for kind, indexes in self._group_indexes().items()
        ]
        shares = [_share_scores(scored) for _, scored in above]
        best = [] if self.is_below_only else [self._search_chunks(read, self.options.limit)]
        sources = [
            ("source_id", str(hit.payload["source_id"])) for each in best for hit in each.hits
        ]
        places = dict.fromkeys([*sources, *chain.from_iterable(shares)])
        within = AnyOf([Match(field, [id]) for field, id in places])
        answer = self._search_chunks(read, MAX_LIMIT, within)
        hits = _rank(answer.hits, shares)[: self.options.limit]
        return replace(answer, hits=hits, **add_up([*(each for each, _ in above), *best, answer]))

    def _search_chunks(
        self, read: ReadQuery, limit: int, within: Filter | None = None
    ) -> SearchAnswer:
        options = replace(self.options, limit=limit, read=read, **_NO_CONDITIONS)

        def keep_distinct(ranking: Sequence[Candidate]) -> list[Candidate]:
            return fold_versions(drop_repeated_chunks(ranking), options.versions)

        how = {"keep_distinct": keep_distinct, "within": within}
        return self._search_nodes(read.text, ["chunk"], options, **how)

    def _group_indexes(self) -> dict[str, list[str | IndexBuild]]:
        """The indexes that hold each kind to begin with."""
        groups: dict[str, list[str | IndexBuild]] = {}
        plurals = " or ".join(KINDS[kind].plural for kind in self.kinds)
        for index in self.indexes:
            [(name, build)] = find_builds([index], self.grant).items()
            kinds = set(build.spec.kinds) if build else set()
            held = [kind for kind in self.kinds if kind in kinds]
            if build is not None and not ("chunk" in kinds and held):
                raise InvalidInput(
                    f"The index {name} holds no chunks below {plurals}.",
                    field="index",
                    fix=f"Search its passages, or declare {plurals}.",
                )
            for kind in held:
                groups.setdefault(kind, []).append(index)
        return groups

    def _find_above(self, kind: str, indexes: Sequence[str | IndexBuild], read: ReadQuery) -> Found:
        """The search of one kind: where the chunks below its best nodes are, with their scores. The
        nodes themselves may have and lack any words."""
        if path := KINDS[kind].find_places:
            find: FindPlaces = import_string(path)
            return find(indexes, read.text, self.options, self.grant)
        options = {name: getattr(self.options, name) for name in self.takes} | _NO_CONDITIONS
        options |= {"read": ReadQuery(read.text, filter=read.filter)}
        options |= {"limit": max(self.options.limit, _NODES_ABOVE), "with_similarity": True}
        retriever = QuestionRetriever if kind == "question" else SummaryRetriever
        answer = retriever(indexes, grant=self.grant, **options).search(read.text)
        scored = []
        for hit in answer.hits:
            field = "source_id" if kind == "question" else "page_id"
            field = field if hit.payload[field] else "artifact_id"
            score = hit.score if hit.similarity is None else hit.similarity
            scored.append(((field, str(hit.payload[field])), score))
        return answer, scored


def _share_scores(found: Iterable[tuple[Place, float]]) -> dict[Place, float]:
    """The best score at each place, in proportion to the best of all."""
    best: dict[Place, float] = {}
    for place, score in found:
        best[place] = max(score, best.get(place, 0.0))
    highest = max(best.values(), default=0.0)
    return {place: score / highest if highest else 0.0 for place, score in best.items()}


def _rank(hits: Sequence[Hit], shares: Sequence[Mapping[Place, float]]) -> list[Hit]:
    """Add to the score of each hit what the nodes above it give: the mean of all kinds."""
    highest = max((hit.score for hit in hits), default=0.0)
    ranked = []
    for hit in hits:
        places = [(field, hit.payload[field]) for field in ("source_id", "page_id", "artifact_id")]
        above = [max(share.get(place, 0.0) for place in places) for share in shares]
        bonus = _WEIGHT_ABOVE * max(highest, 0.0) * sum(above) / len(above)
        ranked.append(replace(hit, score=hit.score + bonus))
    return sorted(ranked, key=lambda hit: -hit.score)
