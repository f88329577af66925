"""Searching the chunks of an index, and proving what was found.

The one search there is: the HTTP view, the retrievers and the commands all come here.
"""

import json
import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

from documents.exceptions import InvalidInput, UnknownIndex
from documents.models import Source, hash_text
from indexing import embedding
from indexing.models import Index, IndexBuild
from indexing.spec import IndexSpec
from indexing.stores import (
    DenseVector,
    Filter,
    Fusion,
    Payload,
    Query,
    ScoredPoint,
    SparseVector,
    encode_query,
    get_store,
)
from retrieval.explanation import Explanation, explain_alone, explain_fused
from retrieval.filters import parse_filter
from retrieval.ledger import LiveBuild, read_ledger, read_live_builds

logger = logging.getLogger(__name__)

MAX_LIMIT = 100
MAX_OFFSET = 1_000
MAX_QUERY_CHARS = 10_000
MAX_INDEXES = 20

_MARGIN = 2  # fetched beyond the page: the odd hit that is dropped costs no second request
_REFILL = 100  # fetched where the margin did not do


class Mode(StrEnum):
    HYBRID = "hybrid"
    DENSE = "dense"
    SPARSE = "sparse"


SCORE_KINDS = {Mode.HYBRID: "rrf", Mode.DENSE: "cosine", Mode.SPARSE: "bm25"}


class Stale(StrEnum):
    """What becomes of hits whose document has changed since they were indexed."""

    FLAG = "flag"
    OMIT = "omit"


class Verdict(StrEnum):
    EXACT = "exact"  # it stands at its offsets in the document as that is now
    STALE = "stale"  # the document has changed since


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """``indexes`` names them; a build in a name's place is searched, live or not.

    ``filter`` is as callers write it (``retrieval.filters``). ``min_score`` is on the scale of
    the mode's scores.
    """

    indexes: Sequence[str | IndexBuild]
    query: str
    mode: Mode = Mode.HYBRID
    limit: int = 10
    offset: int = 0
    filter: Mapping[str, Any] | None = None
    min_score: float | None = None
    verify: bool = True
    explain: bool = False
    stale: Stale = Stale.FLAG


@dataclass(frozen=True, slots=True)
class ChunkHit:
    node_id: UUID
    index: str
    score: float
    payload: Payload
    verdict: Verdict | None  # None: not asked for
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """Points found and not served."""

    orphans: int = 0  # without a ledger row or an artifact
    integrity_errors: int = 0  # not the text of their unchanged source


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """``builds``: index name -> number of the build that answered, None where none is live."""

    builds: dict[str, int | None]
    score_kind: str
    hits: list[ChunkHit]
    dropped: Dropped
    stale_artifact_ids: list[UUID]  # for the caller to have indexed again
    took_ms: dict[str, float]  # by stage


def search_chunks(request: SearchRequest) -> SearchAnswer:
    """The best chunks for a query, best first; ties by node id.

    Pages do not overlap: ``offset`` counts hits as served, after the unprovable are dropped.

    Raises:
        InvalidInput: naming the parameter; also where indexes do not share an embedding model.
        UnknownIndex: with the names there are.
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    started = time.perf_counter()
    _check(request)
    targets, builds = _find_targets(request.indexes)
    for target in targets:
        target.filter = parse_filter(request.filter, target.spec)
    clock = time.perf_counter()
    took_ms = {"embed": 0.0, "search": 0.0, "verify": 0.0}
    if targets:
        _encode(request, targets)
    clock = _lap(took_ms, "embed", clock)

    wanted = request.offset + request.limit
    for target in targets:
        target.fetch(request, wanted + _MARGIN)
    clock = _lap(took_ms, "search", clock)

    proof = _Proof()
    ranking = _merge(targets)
    if request.verify:
        proof.judge(ranking)
        clock = _lap(took_ms, "verify", clock)
        if _count_certain(targets, ranking, proof, request.stale) < wanted:
            unfinished = [target for target in targets if target.has_more]
            for target in unfinished:
                target.fetch(request, _REFILL)
            clock = _lap(took_ms, "search", clock)
            if unfinished:
                ranking = _merge(targets)
                proof.judge(ranking)
                clock = _lap(took_ms, "verify", clock)
        ranking = [found for found in ranking if proof.serves(found, request.stale)]
    page = ranking[request.offset : wanted]
    explanations: dict[tuple[int, UUID], Explanation] = {}
    if request.explain:
        for target in targets:
            scores = {found.point.id: found.point.score for found in page if found.target is target}
            for point_id, explanation in _explain(request.mode, target, scores).items():
                explanations[target.build_id, point_id] = explanation
        _lap(took_ms, "search", clock)
    took_ms["total"] = (time.perf_counter() - started) * 1_000
    return SearchAnswer(
        builds=builds,
        score_kind=SCORE_KINDS[request.mode],
        hits=[
            ChunkHit(
                node_id=found.point.id,
                index=found.target.index,
                score=found.point.score,
                payload=found.point.payload,
                verdict=proof.verdicts.get(found.key),
                explanation=explanations.get(found.key),
            )
            for found in page
        ],
        dropped=Dropped(orphans=len(proof.orphans), integrity_errors=len(proof.broken)),
        stale_artifact_ids=sorted(proof.stale_artifact_ids),
        took_ms={stage: round(milliseconds, 3) for stage, milliseconds in took_ms.items()},
    )


def _lap(took_ms: dict[str, float], stage: str, since: float) -> float:
    now = time.perf_counter()
    took_ms[stage] += (now - since) * 1_000
    return now


# --- The request -----------------------------------------------------------------------------


def _check(request: SearchRequest) -> None:
    if not request.query.strip():
        raise InvalidInput("The query is empty.", field="query")
    if len(request.query) > MAX_QUERY_CHARS:
        raise InvalidInput(f"The query is longer than {MAX_QUERY_CHARS} characters.", field="query")
    if any("\ud800" <= character <= "\udfff" for character in request.query):
        raise InvalidInput("The query holds half a surrogate pair.", field="query")
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit lies between 1 and {MAX_LIMIT}.", field="limit")
    if not 0 <= request.offset <= MAX_OFFSET:
        raise InvalidInput(f"offset lies between 0 and {MAX_OFFSET}.", field="offset")
    if request.min_score is not None and not math.isfinite(request.min_score):
        raise InvalidInput("min_score is a finite number.", field="min_score")
    if not request.indexes:
        raise InvalidInput("Name an index.", field="index")
    if len(request.indexes) > MAX_INDEXES:
        raise InvalidInput(f"One search takes {MAX_INDEXES} indexes at most.", field="index")


@dataclass(eq=False, slots=True)
class _Target:
    """One build to be searched, and what it gave so far."""

    index: str
    build_id: int
    spec: IndexSpec
    collection: str
    filter: Filter | None = None
    dense: DenseVector | None = None
    sparse: SparseVector | None = None
    points: list[ScoredPoint] = field(default_factory=list)
    has_more: bool = True

    @property
    def fusion(self) -> Fusion:
        search = self.spec.search
        return Fusion(
            k=search.rrf_k,
            dense_weight=search.dense_weight,
            sparse_weight=search.sparse_weight,
            prefetch=search.prefetch,
        )

    def fetch(self, request: SearchRequest, count: int) -> None:
        """The next ``count`` points, in one request to the store."""
        query = Query(
            dense=self.dense,
            sparse=self.sparse,
            fusion=self.fusion if request.mode == Mode.HYBRID else None,
            filter=self.filter,
            limit=count,
            offset=len(self.points),
            min_score=request.min_score,
        )
        found = get_store().search(self.collection, query)
        self.points += found
        self.has_more = len(found) == count


def _find_targets(
    indexes: Sequence[str | IndexBuild],
) -> tuple[list[_Target], dict[str, int | None]]:
    names = {index for index in indexes if isinstance(index, str)}
    live = read_live_builds(names) if names else {}
    unknown = sorted(names - live.keys())
    if unknown:
        raise UnknownIndex(
            f"There is no index {unknown[0][:100]!r}.",
            field="index",
            allowed=Index.objects.values_list("name", flat=True),
        )
    builds: dict[str, int | None] = {}
    targets = []
    for given in indexes:
        if isinstance(given, str):
            name, build = given, live[given]
        else:
            name, build = given.index_id, _as_given(given)
        if name in builds:
            continue
        builds[name] = None if build is None else build.number
        if build is not None:
            spec = _read_spec(build.recipe)
            collection = f"{spec.collection_alias('chunk')}.{build.number}"
            targets.append(_Target(name, build.id, spec, collection))
    _require_one_model(targets)
    return targets, builds


def _as_given(build: IndexBuild) -> LiveBuild:
    return LiveBuild(build.index_id, build.pk, build.number, json.dumps(build.recipe))


@lru_cache(maxsize=256)
def _read_spec(recipe: str) -> IndexSpec:
    """Kept: validating a spec for each request would cost as much as the search."""
    return IndexSpec.model_validate_json(recipe)


def _require_one_model(targets: Sequence[_Target]) -> None:
    spaces: dict[tuple[str | int, ...], str] = {}
    for target in targets:
        model = target.spec.embedding
        space = (
            model.provider, model.model, model.dimension,
            model.document_prefix, model.query_prefix,
        )  # fmt: skip
        spaces.setdefault(space, target.index)
    if len(spaces) > 1:
        models = ", ".join(f"{name} ({space[1]})" for space, name in spaces.items())
        raise InvalidInput(
            f"Indexes searched together must share one embedding model; these do not: {models}.",
            field="index",
            fix="Search them one by one.",
        )


def _encode(request: SearchRequest, targets: Sequence[_Target]) -> None:
    if request.mode != Mode.SPARSE:
        dense = embedding.get_embedder(targets[0].spec.embedding).embed_query(request.query)
        for target in targets:
            target.dense = dense
    if request.mode != Mode.DENSE:
        for target in targets:
            target.sparse = encode_query(target.spec.sparse, request.query)


# --- The ranking -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    target: _Target
    point: ScoredPoint

    @property
    def key(self) -> tuple[int, UUID]:
        return self.target.build_id, self.point.id


def _merge(targets: Sequence[_Target]) -> list[_Found]:
    found = [_Found(target, point) for target in targets for point in target.points]
    found.sort(key=lambda each: (-each.point.score, each.point.id.int))
    return found


def _count_certain(
    targets: Sequence[_Target], ranking: Sequence[_Found], proof: "_Proof", stale: Stale
) -> int:
    """How many servable hits nothing still unfetched could outrank."""
    frontier = max(
        (target.points[-1].score for target in targets if target.has_more and target.points),
        default=-math.inf,
    )
    return sum(found.point.score >= frontier and proof.serves(found, stale) for found in ranking)


def _explain(mode: Mode, target: _Target, scores: Mapping[UUID, float]) -> dict[UUID, Explanation]:
    if not scores:
        return {}
    if mode == Mode.HYBRID:
        return explain_fused(
            target.collection,
            scores,
            dense=target.dense,
            sparse=target.sparse,
            fusion=target.fusion,
            filter=target.filter,
        )
    return explain_alone(target.points, scores, is_dense=mode == Mode.DENSE)


# --- The proof -------------------------------------------------------------------------------


class _Proof:
    """Compares what the store gave with the ledger and the documents as they are now."""

    def __init__(self) -> None:
        self.verdicts: dict[tuple[int, UUID], Verdict] = {}
        self.orphans: set[tuple[int, UUID]] = set()
        self.broken: set[tuple[int, UUID]] = set()
        self.stale_artifact_ids: set[UUID] = set()

    def serves(self, found: _Found, stale: Stale) -> bool:
        verdict = self.verdicts.get(found.key)
        return verdict == Verdict.EXACT or (verdict == Verdict.STALE and stale == Stale.FLAG)

    def judge(self, ranking: Iterable[_Found]) -> None:
        """One query for all that has not been judged yet, another where a point names a source
        that its row does not."""
        unjudged = [
            found
            for found in ranking
            if found.key not in self.verdicts
            and found.key not in self.orphans
            and found.key not in self.broken
        ]
        if not unjudged:
            return
        artifact_ids, sources = _read_ledger(unjudged)
        for found in unjudged:
            artifact_id = artifact_ids.get(found.key)
            if artifact_id is None:
                self.orphans.add(found.key)
                continue
            verdict = _compare(found.point.payload, sources)
            if verdict is None:
                self.broken.add(found.key)
                logger.error(
                    "Integrity error: point %s of %s is not the text of its source",
                    found.point.id,
                    found.target.collection,
                )
                continue
            self.verdicts[found.key] = verdict
            if verdict == Verdict.STALE:
                self.stale_artifact_ids.add(artifact_id)


def _read_ledger(
    unjudged: Sequence[_Found],
) -> tuple[dict[tuple[int, UUID], UUID], dict[UUID, tuple[str, str]]]:
    """The artifacts of the points that have a row and whose artifact exists; and text and hash
    of every source those points name."""
    rows = read_ledger(
        {found.target.build_id for found in unjudged}, {found.point.id for found in unjudged}
    )
    artifact_ids = {(row.build_id, row.point_id): row.artifact_id for row in rows}
    texts = {
        row.source_id: row.source_text
        for row in rows
        if row.source_id is not None and row.source_text is not None
    }
    # It is the payload's own source its offsets count in; a row may have moved to another since.
    named = {_source_id(found.point.payload) for found in unjudged if found.key in artifact_ids}
    if elsewhere := [pk for pk in named if pk is not None and pk not in texts]:
        texts |= Source.objects.filter(pk__in=elsewhere).values_list("pk", "text")
    return artifact_ids, {pk: (text, hash_text(text)) for pk, text in texts.items() if pk in named}


def _source_id(payload: Payload) -> UUID | None:
    try:
        return UUID(payload["source_id"])
    except (KeyError, TypeError, ValueError):
        return None


def _compare(payload: Payload, sources: Mapping[UUID, tuple[str, str]]) -> Verdict | None:
    """None: an integrity error. A hash that was never taken (null) proves and refutes nothing."""
    source_id, text = _source_id(payload), payload.get("text")
    start, end = payload.get("start_offset"), payload.get("end_offset")
    if source_id is None or not isinstance(text, str):
        return None
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    if payload.get("text_hash") not in (None, hash_text(text)):
        return None
    if source_id not in sources:
        return Verdict.STALE  # an edit took the passage away
    source_text, source_hash = sources[source_id]
    if payload.get("source_hash") not in (None, source_hash):
        return Verdict.STALE
    if source_text[start:end] == text:
        return Verdict.EXACT
    return None if payload.get("source_hash") else Verdict.STALE
