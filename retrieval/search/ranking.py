"""Fetches the points of targets, best first, explains their scores and measures their cosines.

With the default fusion, the store fuses a hybrid ranking in one request. With other weights, or if
the rank in each ranking is needed, the store returns both rankings without payloads in one batch.
This module then fuses them and reads the payloads of the best points. Collections of several
indexes are fused here, too, as if they were one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from uuid import UUID

from indexing.embedding.vectors import cosine
from indexing.losses import has_lost_collection, make_loss_error
from indexing.stores import Query, RankFusion, ScoredPoint, StoredPoint, get_bm25_encoder
from retrieval.fusion import RRF_K, CollectionRankings, Explanation, ScoreShare, fuse_collections
from retrieval.search.request import Mode, SearchOptions
from retrieval.search.targets import Candidate, PointKey, SharedRanking, Target
from retrieval.visible_points import VisiblePoints


def fetch_points(targets: Iterable[Target], options: SearchOptions, count: int) -> None:
    """Add the next ``count`` points to each target that has more. Raises ``PointsLost``: nothing
    was found because the store has lost the collection."""
    by_store: list[Target] = []
    fused_here: list[Target] = []
    for target in targets:
        if target.has_more:
            is_fused_here = (
                not target.fusion.is_default
                or target.needs_ranks
                or target.shared_ranking is not None
            )
            is_fused_here &= options.mode == Mode.HYBRID
            (fused_here if is_fused_here else by_store).append(target)
    _search(by_store, [each for each in fused_here if each.ranking is None], options, count)
    _read_ranked_points(fused_here, options.min_score, count)
    for target in (*by_store, *fused_here):
        if not target.points and has_lost_collection(target.build_id, target.collection):
            raise make_loss_error(target.index)


def _search(
    by_store: Sequence[Target], unranked: Sequence[Target], options: SearchOptions, count: int
) -> None:
    """Send all queries to the store in one batch."""
    requests = [(target.collection, _make_query(target, options, count)) for target in by_store]
    for target in unranked:
        requests += [(target.collection, query) for query in _make_ranking_queries(target)]
    if not requests:
        return
    [grant] = {target.grant for target in (*by_store, *unranked)}
    answers = iter(VisiblePoints(grant).search_many(requests))
    for target in by_store:
        points = next(answers)
        if target.is_scored_by_rank:
            ranked = enumerate(points, start=target.fetched_count + 1)
            points = [replace(point, score=1 / (RRF_K + rank)) for rank, point in ranked]
        target.points += points
        target.fetched_count += len(points)
        target.has_more = len(points) == count
    rankings: dict[Target, CollectionRankings] = {}
    for target in unranked:
        dense, sparse = (
            [(point.id.int, point.score) for point in next(answers)] for _ in ("dense", "sparse")
        )
        rankings[target] = CollectionRankings(dense, sparse, target.space, target.sparse_space)
    _fuse(rankings)


def _fuse(rankings: Mapping[Target, CollectionRankings]) -> None:
    """Set the ranking of each target: of its own points, or of those that share its ranking."""
    united: dict[Target | SharedRanking, list[Target]] = {}
    for target in rankings:
        united.setdefault(target.shared_ranking or target, []).append(target)
    for targets in united.values():
        fusion = fuse_collections([rankings[target] for target in targets], targets[0].fusion)
        for target in targets:
            found = rankings[target]
            own_ids = {id for id, _ in (*found.dense, *found.sparse)}
            own = [(id, score) for id, score in fusion.fused if id in own_ids]
            target.ranking = replace(fusion, fused=own)


def _make_query(target: Target, options: SearchOptions, count: int) -> Query:
    fusion, mode = target.fusion, options.mode
    return Query(
        dense=None if mode == Mode.SPARSE else target.dense,
        sparse=None if mode == Mode.DENSE else target.sparse,
        fusion=RankFusion(fusion.k, fusion.prefetch) if mode == Mode.HYBRID else None,
        filter=target.filter,
        limit=count,
        offset=target.fetched_count,
        min_score=options.min_score,
        ef=target.spec.store.hnsw.ef,
        required_ids=target.required_ids,
    )


def _make_ranking_queries(target: Target) -> list[Query]:
    """The dense and the sparse query; a ranking of weight 0 gets a query without results."""
    fusion = target.fusion
    dense = target.dense if fusion.dense_weight else None
    sparse = target.sparse if fusion.sparse_weight else None
    return [
        Query(
            filter=target.filter,
            limit=fusion.prefetch,
            with_payload=False,
            ef=target.spec.store.hnsw.ef,
            required_ids=target.required_ids,
            **vector,
        )
        for vector in ({"dense": dense}, {"sparse": sparse})
    ]


def _read_ranked_points(targets: Sequence[Target], min_score: float | None, count: int) -> None:
    """Read the payloads of the next points; points deleted meanwhile are left out."""
    page_by_target: list[tuple[Target, list[tuple[UUID, float]]]] = []
    ids_by_collection: dict[str, dict[UUID, None]] = {}
    for target in targets:
        assert target.ranking is not None
        fused = target.ranking.fused
        next_count = target.fetched_count + count
        page = [
            (UUID(int=id), score)
            for id, score in fused[target.fetched_count : next_count]
            if min_score is None or score >= min_score
        ]
        target.fetched_count = min(next_count, len(fused))
        target.has_more = next_count < len(fused) and len(page) == count
        page_by_target.append((target, page))
        ids_by_collection.setdefault(target.collection, {}).update((id, None) for id, _ in page)
    if not targets:
        return
    visible = VisiblePoints(targets[0].grant)
    stored = _retrieve(visible, ids_by_collection)
    # A replica that has just come back may lack what another ranked.
    is_any_missing = any(len(stored[name]) < len(ids) for name, ids in ids_by_collection.items())
    is_any_required = any(target.required_ids for target in targets)
    if is_any_missing and is_any_required and visible.wait_for_replicas():
        stored = _retrieve(visible, ids_by_collection)
    for target, page in page_by_target:
        points = stored[target.collection]
        target.points += [
            ScoredPoint(id, score, points[id].payload) for id, score in page if id in points
        ]


def _retrieve(
    points: VisiblePoints,
    ids_by_collection: Mapping[str, Mapping[UUID, None]],
    *,
    with_vectors: bool = False,
) -> dict[str, Mapping[UUID, StoredPoint]]:
    return {
        collection: points.retrieve(collection, list(ids), with_vectors=with_vectors)
        for collection, ids in ids_by_collection.items()
    }


def explain_candidates(mode: Mode, candidates: Sequence[Candidate]) -> dict[PointKey, Explanation]:
    """Explain the score of each candidate; a hybrid ranking was fetched with ``needs_ranks``."""
    explanations: dict[PointKey, Explanation] = {}
    if mode == Mode.HYBRID:
        for found in candidates:
            ranking, id = found.target.ranking, found.point.id.int
            assert ranking is not None
            explanations[found.key] = Explanation(
                ranking.dense.get(id), ranking.sparse.get(id), found.target.fusion, found.bonus
            )
        return explanations
    bonuses = {found.key: found.bonus for found in candidates}
    for target in dict.fromkeys(found.target for found in candidates):
        for rank, point in enumerate(target.points, start=1):
            key = (target.build_id, point.id.int)
            if key in bonuses:
                share = ScoreShare(rank, point.score, point.score)
                dense, sparse = (share, None) if mode == Mode.DENSE else (None, share)
                explanations[key] = Explanation(dense, sparse, second_passage=bonuses[key])
    return explanations


def explain_words(
    candidates: Sequence[Candidate], explanations: Mapping[PointKey, Explanation]
) -> dict[PointKey, Explanation]:
    """The explanations, with the words of the query that each candidate has in some spelling."""
    explained = dict(explanations)
    for found in candidates:
        sparse, explanation = found.target.spec.sparse, explained.get(found.key)
        if explanation is not None and explanation.sparse is not None and sparse.model is None:
            query, text = found.target.query_text, str(found.point.payload.get("text") or "")
            words = get_bm25_encoder(sparse).find_met_words(query, text)
            explained[found.key] = replace(explanation, words=words)
    return explained


def measure_similarities(rankings: Sequence[Sequence[Candidate]]) -> list[dict[PointKey, float]]:
    """For each ranking, the cosines of its candidates to the query of their target. Most are scores
    of the dense ranking. For the others, one request to each collection reads the vectors. Without
    a dense query, or if the store no longer has the point, a candidate has none."""
    unmeasured: dict[str, dict[UUID, None]] = {}
    candidates = list(chain.from_iterable(rankings))
    for found in candidates:
        if found.target.dense is not None and _get_dense_score(found) is None:
            unmeasured.setdefault(found.target.collection, {})[found.point.id] = None
    stored = {}
    if unmeasured:
        points = VisiblePoints(candidates[0].target.grant)
        stored = _retrieve(points, unmeasured, with_vectors=True)
    measured: list[dict[PointKey, float]] = []
    for ranking in rankings:
        similarities: dict[PointKey, float] = {}
        for found in ranking:
            score = _get_dense_score(found)
            if score is None and found.target.dense is not None:
                point = stored[found.target.collection].get(found.point.id)
                if point is not None and point.dense is not None:
                    score = cosine(found.target.dense, point.dense)
            if score is not None:
                similarities[found.key] = score
        measured.append(similarities)
    return measured


def _get_dense_score(candidate: Candidate) -> float | None:
    ranking = candidate.target.ranking
    share = None if ranking is None else ranking.dense.get(candidate.point.id.int)
    return None if share is None else share.score
