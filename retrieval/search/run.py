"""A search under way, which every way of searching goes through, and the parts of its answer."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar
from uuid import UUID

from access.grants import Grant
from core.metrics import DROPPED_HITS
from core.stages import describe, describe_documents, stage
from indexing import revisions
from indexing.kinds import KINDS
from indexing.models import IndexBuild
from indexing.spec import IndexSpec
from indexing.stores import Payload
from retrieval.filters import all_of, parse_filter
from retrieval.fusion import Explanation, reciprocal_rank_fusion
from retrieval.search.hit_checks import DroppedPoints, HitChecks, Verdict
from retrieval.search.query_weights import OTHER_LANGUAGE_WEIGHT
from retrieval.search.ranking import (
    explain_candidates,
    explain_words,
    fetch_points,
    measure_similarities,
)
from retrieval.search.reading import read_search
from retrieval.search.request import SCORE_KINDS, Mode, SearchOptions, check_query, name_score
from retrieval.search.targets import (
    Candidate,
    Folded,
    PointKey,
    Target,
    find_builds,
    get_passage_id,
    get_passage_text,
    make_targets,
    set_query_vectors,
)

# Points of each ranking that are compared with the words that hits must have or lack.
COMPARED_POINTS = 4_000

STAGES = ("embed", "search", "verify", "total")

T = TypeVar("T", bound=Sequence[Any])
Answer = TypeVar("Answer", bound="AnyAnswer")


@dataclass(frozen=True, slots=True)
class Hit:
    node_id: UUID
    index: str
    build_id: int
    score: float
    payload: Payload
    verdict: Verdict | None  # None: not verified
    spec: IndexSpec
    explanation: Explanation | None = None
    similarity: float | None = None  # cosine, if it was requested
    folded: Sequence[Folded] = ()  # the passages that it stands for, too

    @property
    def passage_id(self) -> str:
        """The chunk's id: the same for all questions of one chunk."""
        return get_passage_id(self.node_id, self.payload)

    @property
    def passage_text(self) -> str:
        """The text of the chunk."""
        return get_passage_text(self.payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyAnswer:
    """``builds``: index name -> number of the build that was searched, None if none is live."""

    builds: dict[str, int | None]
    dropped: DroppedPoints
    stale_ids: list[UUID]  # the caller enqueues planning for them
    took_ms: dict[str, float]  # by stage
    notes: list[str]  # what the answer lacks
    text: str | None = None  # the query without its syntax


class SearchRun:
    """One search: the builds and targets it reads, its checks, and the time of each stage."""

    def __init__(
        self,
        indexes: Sequence[str | IndexBuild],
        queries: Sequence[str],
        options: SearchOptions,
        grant: Grant,
    ) -> None:
        self._started_at = time.perf_counter()
        self._took_ms = dict.fromkeys(STAGES, 0.0)
        for query in queries:
            check_query(indexes, query, may_be_empty=options.vector is not None)
            options = options.settle_mode(query)
        if not grant.sees_all_documents:  # the check drops what the grant excludes
            options = replace(options, verify=True)
        self.options = options
        self.grant = grant
        self.builds = find_builds(indexes, grant)
        self.targets: list[Target] = []
        self.checks = HitChecks()
        read = read_search(queries[0], options, self.builds.values())
        self._read = read
        self.text = read.text if len(queries) == 1 else queries[0]
        self.notes: list[str] = list(read.notes)
        self.conditions = read.all_conditions
        self.compared_points = COMPARED_POINTS
        self._compared: dict[PointKey, bool] = {}

    def stage(self, name: str) -> AbstractContextManager[object]:
        """One of ``STAGES``, until the block ends; its time is part of the answer."""
        return stage(name, took_ms=self._took_ms)

    def add_targets(self, kinds: Sequence[str], query: str) -> list[Target]:
        """Search the collections that hold these kinds. Raises ``InvalidInput``: a build holds no
        nodes of these kinds, or the filter is wrong."""
        targets = make_targets(self.builds.values(), kinds, self.options.filter, query)
        for target in targets if self._read.filter else ():
            typed = parse_filter(self._read.filter, target.spec, self.grant)
            target.filter = all_of(target.filter, typed)
        for target in targets if self.conditions else ():
            target.words = self._read.words
            target.depth = self.compared_points
            target.needs_ranks = True
        self.targets += targets
        return targets

    def embed(self) -> None:
        """Set the vectors of every target's query, once ``min_revision`` is reached."""
        if (revision := self.options.min_revision) is not None:
            for target in self.targets:
                written = target.index, target.build_id, target.kinds, revision
                revisions.wait_for_revision(*written)
                target.required_ids = revisions.find_last_points(*written)
        with self.stage("embed"):
            self.notes += set_query_vectors(self.options.mode, self.targets, self.options.vector)
        for target in self.targets:
            target.needs_ranks |= self.options.explain
            if self.conditions and not target.query_weights.dense:
                # What the words miss is found by its vector, and compared.
                weights = replace(target.query_weights, dense=OTHER_LANGUAGE_WEIGHT)
                target.query_weights = weights

    def rank(self, rank: Callable[[], T], count: Callable[[Any], int] = len) -> T:
        """Call ``rank``, which fetches and checks points, and once more if points were replaced, or
        if no passage has what is typed in the query, which then is given up. ``count``: what the
        request's limit counts."""
        found = self._rank_current_points(rank)
        if self._read.typed and not any(found):
            self.conditions = self._read.conditions
            self._compared.clear()
            for target in self.targets:
                target.reset()
            found = self._rank_current_points(rank)
            if any(found):
                self.notes.append(self._read.explain_given_up())
        of_each_query = found if found and isinstance(found[0], Sequence) else [found]
        is_short = min(map(count, of_each_query)) < self.options.offset + self.options.limit
        if self.conditions and is_short and any(map(self._is_cut, self.targets)):
            self.notes.append(
                f"Only the {self.compared_points:,} passages nearest to the query were compared "
                "with the words that hits must have or lack."
            )
        elif not any(found) and any(
            len(words) > 1 for each in self.conditions.required for words in each
        ):
            self.notes.append(
                "No passage has all that hits must have. A phrase is looked for within one "
                "passage: one that goes on in the next passage is not found."
            )
        return found

    def _is_cut(self, target: Target) -> bool:
        """Whether there are points that were not compared."""
        ranks = () if target.ranking is None else (target.ranking.dense, target.ranking.sparse)
        return target.has_more or any(len(each) >= self.compared_points for each in ranks)

    def _rank_current_points(self, rank: Callable[[], T]) -> T:
        known = HitChecks(dict(self.checks.results))
        found = rank()
        if self.checks.orphans - known.orphans:
            # Most likely points were replaced between reading store and ledger.
            self.checks = known
            for target in self.targets:
                target.reset()
            found = rank()
        return found

    @property
    def has_more(self) -> bool:
        return any(target.has_more for target in self.targets)

    def fetch(self, targets: Iterable[Target], count: int) -> None:
        """Add the next ``count`` points to each target that has more."""
        fetch_points(targets, self.options, count)

    def keep_meeting(self, ranking: Sequence[Candidate]) -> Sequence[Candidate]:
        """Keep candidates whose text has and lacks the words that it must."""
        if not self.conditions:
            return ranking
        for found in ranking:
            if found.key not in self._compared:
                self._compared[found.key] = self.conditions.hold(_get_text(found.point.payload))
        return [found for found in ranking if self._compared[found.key]]

    def keep_served(self, ranking: Sequence[Candidate]) -> list[Candidate]:
        """Check candidates, and keep those that can be served and meet the conditions."""
        ranking = self.keep_meeting(ranking)
        if not self.options.verify:
            return list(ranking)
        self.checks.check(ranking)
        return [found for found in ranking if self.checks.is_served(found, self.options.stale)]

    def make_hits(self, *rankings: Sequence[Candidate]) -> list[list[Hit]]:
        """The hits of each ranking, with their explanations and cosines if these are asked for."""
        similarities: list[dict[PointKey, float]] = [{} for _ in rankings]
        if self.options.with_similarity:
            with self.stage("search"):
                similarities = measure_similarities(rankings)
        hits = []
        for ranking, similarity_by_key in zip(rankings, similarities, strict=True):
            explanations: Mapping[PointKey, Explanation] = {}
            if self.options.explain:
                explained = explain_candidates(self.options.mode, ranking)
                explanations = explain_words(ranking, explained)
            hits.append(
                [
                    Hit(
                        node_id=found.point.id,
                        index=found.target.index,
                        build_id=found.target.build_id,
                        score=found.score,
                        payload=found.point.payload,
                        verdict=self.checks.get_verdict(found),
                        spec=found.target.spec,
                        explanation=explanations.get(found.key),
                        similarity=similarity_by_key.get(found.key),
                        folded=found.folded,
                    )
                    for found in ranking
                ]
            )
        describe({"strata.index": list(self.builds)})
        described = ((hit.node_id, hit.score) for ranking in hits for hit in ranking)
        describe_documents("retrieval.documents", described)
        return hits

    @property
    def score_kind(self) -> str:
        if any(target.is_scored_by_rank for target in self.targets):
            return SCORE_KINDS[Mode.HYBRID]  # scores of unlike models are not comparable
        if not self.targets:
            return SCORE_KINDS[self.options.mode]
        first = self.targets[0]
        return name_score(self.options.mode, first.fusion.method, first.spec.sparse)

    def finish(self, answer_class: type[Answer], **found: Any) -> Answer:
        """Make the answer: what was found, and what every answer says of its search."""
        total = (time.perf_counter() - self._started_at) * 1_000
        took_ms = {name: round(ms, 3) for name, ms in {**self._took_ms, "total": total}.items()}
        dropped = self.checks.dropped
        DROPPED_HITS.labels("orphan").inc(dropped.orphans)
        DROPPED_HITS.labels("integrity").inc(dropped.integrity_errors)
        return answer_class(
            builds={name: build.number if build else None for name, build in self.builds.items()},
            dropped=dropped,
            stale_ids=self.checks.stale_ids,
            took_ms=took_ms,
            notes=self.notes,
            text=self.text,
            **found,
        )


def _get_text(payload: Payload) -> str:
    """The text that a hit shows: of a question, the passage that answers it."""
    kind = payload.get("kind")
    field = "chunk_text" if kind == "question" else KINDS[str(kind)].text_field
    return str(payload.get(field) or "")


def add_up(answers: Sequence[AnyAnswer]) -> dict[str, Any]:
    """What the answer of several searches together says of them: ``dropped``, ``stale_ids``,
    ``took_ms`` and ``notes``."""
    return {
        "dropped": DroppedPoints(
            sum(answer.dropped.orphans for answer in answers),
            sum(answer.dropped.integrity_errors for answer in answers),
        ),
        "stale_ids": sorted({pk for answer in answers for pk in answer.stale_ids}),
        "took_ms": {
            name: round(sum(answer.took_ms[name] for answer in answers), 3) for name in STAGES
        },
        "notes": list(dict.fromkeys(note for answer in answers for note in answer.notes)),
    }


def fuse_by_rank(rankings: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """The best passages of several rankings, each once, with their fused reciprocal ranks."""
    hits: dict[str, Hit] = {}
    for hit in chain.from_iterable(rankings):
        hits.setdefault(hit.passage_id, hit)
    fused = reciprocal_rank_fusion([[hit.passage_id for hit in each] for each in rankings])
    return [replace(hits[id], score=score) for id, score in fused[:limit]]
