"""Searches several queries at once, with a checked ranking for each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from access.grants import Grant
from core.exceptions import InvalidInput
from core.stages import stage
from indexing.models import IndexBuild
from retrieval.ledger import LiveBuild
from retrieval.search.flat import drop_repeated_chunks
from retrieval.search.request import SearchOptions
from retrieval.search.run import AnyAnswer, Hit, SearchRun
from retrieval.search.targets import Candidate, Target, get_passage_id
from retrieval.search.versions import FOLDING_DEPTH, fold_versions

MAX_QUERIES = 10
MAX_CANDIDATES = 1_000  # hits for each query
_EXTRA_HITS = 2  # checked beyond ``limit``, so that a dropped hit seldom costs a second check


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiQueryAnswer(AnyAnswer):
    """``rankings``: one for each query, in their order, best first. The score of a hit fuses its
    dense and sparse rank for this query with the spec's weights; its similarity is the cosine to
    this query, None if the store no longer has its vector."""

    rankings: list[list[Hit]]


@stage("retriever", "RETRIEVER")
def search_by_queries(
    index: str | IndexBuild, queries: Sequence[str], options: SearchOptions, grant: Grant
) -> MultiQueryAnswer:
    """Find the best passages for each of several queries, ``limit`` of each.

    Passages are chunks, or the best question of each chunk if an index embeds no chunks.

    The queries are embedded in one batch and searched in one request to the store. Every hit has
    its explanation.
    """
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise InvalidInput(f"Give 1 to {MAX_QUERIES} queries.", field="queries")
    options.check(max_limit=MAX_CANDIDATES)
    options = replace(options, verify=True, explain=True, with_similarity=True)
    run = SearchRun([index], queries, options, grant)
    [build] = run.builds.values()
    if build is None:
        return run.finish(MultiQueryAnswer, rankings=[[] for _ in queries])
    kinds = [choose_passage_kind(build)]
    targets = [run.add_targets(kinds, query)[0] for query in queries]
    run.embed()
    for target in targets:
        target.depth = max(target.depth, options.limit)

    def rank() -> list[list[Candidate]]:
        """The passages of each query that can be served, ``limit`` of each."""
        unfilled, count = list(targets), options.limit + _EXTRA_HITS
        while True:
            with run.stage("search"):
                run.fetch(unfilled, count)
                rankings = [run.keep_meeting(_keep_best_per_passage(target)) for target in targets]
            with run.stage("verify"):
                run.checks.check(found for ranking in rankings for found in ranking)
                served = [run.keep_served(ranking) for ranking in rankings]
                folded = [fold_versions(ranking, options.versions) for ranking in served]
            unfilled = [
                target
                for target, found, kept in zip(targets, served, folded, strict=True)
                if target.has_more
                and (
                    len(kept) < options.limit
                    or (len(kept) < len(found) < FOLDING_DEPTH)  # a newer version may follow
                )
            ]
            if not unfilled:
                return [kept[: options.limit] for kept in folded]
            count = max(2 * count, FOLDING_DEPTH)

    return run.finish(MultiQueryAnswer, rankings=run.make_hits(*run.rank(rank)))


def choose_passage_kind(build: LiveBuild) -> str:
    """The kind of node by which passages of this build are found."""
    kinds = build.spec.kinds
    return "question" if "chunk" not in kinds and "question" in kinds else "chunk"


def _keep_best_per_passage(target: Target) -> list[Candidate]:
    best: dict[str, Candidate] = {}
    for point in target.points:
        best.setdefault(get_passage_id(point.id, point.payload), Candidate(target, point))
    return drop_repeated_chunks(list(best.values()))
