"""Searches one kind of node and returns one ranking."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from access.grants import Grant
from core.stages import stage
from indexing.models import IndexBuild
from indexing.stores import Filter, Payload
from retrieval.filters import all_of
from retrieval.search.request import SearchOptions
from retrieval.search.run import AnyAnswer, Hit, SearchRun
from retrieval.search.targets import Candidate, Target, merge_candidates
from retrieval.search.versions import FOLDING_DEPTH

_EXTRA_POINTS = 2  # points fetched beyond the page: a dropped hit seldom costs a second request
MIN_REFILL_POINTS = 100  # points in the first refill; each later refill doubles
_MAX_FETCHED = 10_000  # points of one query to the store
_MAX_REFILLS = 8  # reaches over 20,000 points, enough unless nearly every hit is dropped
GROUPING_DEPTH = 50  # first passages of a ranking, among which a second one raises its group
_SECOND_WEIGHT = 0.1  # of a group's second passage, beside its best
_SECOND_THRESHOLD = 0.7  # share of the best score; what the second scores above it counts


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer(AnyAnswer):
    score_kind: str
    hits: list[Hit]


@stage("retriever", "RETRIEVER")
def search_nodes(
    indexes: Sequence[str | IndexBuild],
    query: str,
    kinds: Sequence[str],
    options: SearchOptions,
    grant: Grant,
    *,
    keep_distinct: Callable[[Sequence[Candidate]], list[Candidate]] = list,
    points_per_hit: int = 1,
    reordered_count: int = 0,
    within: Filter | None = None,
) -> SearchAnswer:
    """Rank the nodes of these kinds, best first, ties by node id. Of those that can be served,
    the ones that ``keep_distinct`` keeps are returned. It decides by the candidates before each,
    but may order the first ``reordered_count`` anew. ``within`` is a filter beside that of the
    options.

    Pages of results do not overlap: ``offset`` counts served hits, after failed checks are dropped.
    """
    options.check()
    run = SearchRun(indexes, [query], options, grant)
    for target in run.add_targets(kinds, run.text):
        target.filter = all_of(target.filter, within)
    run.embed()
    wanted_count = options.offset + options.limit

    def rank() -> list[Candidate]:
        """The candidates that can be served. The first ``wanted_count`` ranks are final."""
        ranking: list[Candidate] = []
        count = max(wanted_count * points_per_hit, reordered_count) + _EXTRA_POINTS
        for _ in range(1 + _MAX_REFILLS):
            with run.stage("search"):
                run.fetch(run.targets, count)
                ranking = merge_candidates(run.targets)
            with run.stage("verify"):
                served = run.keep_served(ranking)
                ranking = keep_distinct(served)
            is_folded = any(each.folded for each in ranking)
            is_ordered = count_final(served, run.targets) >= (
                max(reordered_count, FOLDING_DEPTH) if is_folded else reordered_count
            )
            is_final = is_ordered and count_final(ranking, run.targets) >= wanted_count
            if is_final or not run.has_more:
                break
            count = min(max(2 * count, MIN_REFILL_POINTS), _MAX_FETCHED)
        return ranking

    [hits] = run.make_hits(run.rank(rank)[options.offset : wanted_count])
    return run.finish(SearchAnswer, score_kind=run.score_kind, hits=hits)


def keep_best_of_each(field: str, ranking: Sequence[Candidate]) -> list[Candidate]:
    """Keep the best candidate of those of a build with the same value of this field."""
    best: dict[Hashable, Candidate] = {}
    for found in ranking:
        best.setdefault(_get_group(field, found), found)
    return list(best.values())


def rank_groups(field: str, ranking: Sequence[Candidate]) -> list[Candidate]:
    """Keep the best candidate of those of a build with the same value of this field. A second one
    among the first ``GROUPING_DEPTH`` adds a part of its score, if it is nearly as good.

    Source: the weighted sum of a document's best sentences in Akkalyoncu Yilmaz et al.,
    *Cross-Domain Modeling of Sentence-Level Evidence for Document Retrieval*, EMNLP 2019; here only
    what is above a bound, so that a page of one passage does not come after all others.
    """
    passages: defaultdict[Hashable, list[Candidate]] = defaultdict(list)
    for found in drop_repeated_chunks(ranking[:GROUPING_DEPTH]):
        passages[_get_group(field, found)].append(found)
    ranked = []
    for best in keep_best_of_each(field, ranking):
        second = passages[_get_group(field, best)][1:2]
        excess = sum(each.score - _SECOND_THRESHOLD * best.score for each in second)
        bonus = best.bonus + _SECOND_WEIGHT * max(0.0, excess)
        ranked.append(Candidate(best.target, best.point, bonus, best.folded))
    return sorted(ranked, key=lambda each: each.sort_key)


def _get_group(field: str, found: Candidate) -> Hashable:
    return found.target.build_id, found.point.payload.get(field)


def drop_repeated_chunks(ranking: Sequence[Candidate]) -> list[Candidate]:
    """Drop each chunk that overlaps a better one of the same source, if different strategies made
    the two: it repeats text."""
    distinct: list[Candidate] = []
    kept_by_source: defaultdict[str, list[Payload]] = defaultdict(list)  # by source
    for found in ranking:
        payload = found.point.payload
        if len(found.target.spec.chunks.strategies) > 1:
            kept = kept_by_source[payload["source_id"]]
            if any(_repeats_text(payload, other) for other in kept):
                continue
            kept.append(payload)
        distinct.append(found)
    return distinct


def _repeats_text(payload: Payload, other: Payload) -> bool:
    is_overlapping = (
        payload["start_offset"] < other["end_offset"]
        and other["start_offset"] < payload["end_offset"]
    )
    return is_overlapping and payload["strategy"] != other["strategy"]


def count_final(ranking: Sequence[Candidate], targets: Sequence[Target]) -> int:
    """Count the leading candidates that no unfetched point can outrank."""
    last_sort_keys = [
        Candidate(target, target.points[-1]).sort_key
        for target in targets
        if target.has_more and target.points
    ]
    if not last_sort_keys:
        return len(ranking)
    cutoff = min(last_sort_keys)
    return sum(found.sort_key <= cutoff for found in ranking)
