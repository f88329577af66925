"""The collections that a search asks, and the candidates that they return."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from core.exceptions import InvalidInput, UnknownIndex
from indexing import embedding, revisions
from indexing.models import Index, IndexBuild
from indexing.spec import COLLECTION_BY_KIND, EmbeddingSpec, IndexSpec
from indexing.stores import (
    AllOf,
    DenseVector,
    Filter,
    Match,
    Payload,
    Query,
    RankFusion,
    ScoredPoint,
    SparseVector,
    encode_sparse_query,
)
from retrieval.explanation import Explanation, explain_fused_ranking, explain_single_ranking
from retrieval.filters import parse_filter
from retrieval.ledger import LiveBuild, read_live_builds
from retrieval.search.request import Mode

# Build and point, the latter as the number that a UUID is: it is hashed ten times as fast.
PointKey = tuple[int, int]

# Plural names of the node kinds, for messages.
KIND_LABELS = {
    "chunk": "chunks",
    "page_summary": "page summaries",
    "artifact_summary": "artifact summaries",
    "question": "questions",
    "concept": "concepts",
    "relationship_type": "relationship types",
    "compound": "chemical structures",
    "image": "images",
}


@dataclass(eq=False, slots=True)
class Target:
    """A collection of one build to search, with the points it has returned so far, best first."""

    index: str
    build_id: int
    spec: IndexSpec
    kinds: tuple[str, ...]  # those of the collection that are asked for
    collection: str
    filter: Filter | None = None
    dense: DenseVector | None = None
    sparse: SparseVector | None = None
    points: list[ScoredPoint] = field(default_factory=list)
    has_more: bool = True

    @property
    def embedding(self) -> EmbeddingSpec:
        return self.spec.embedding_spec_for(self.kinds[0])

    @property
    def fusion(self) -> RankFusion:
        search = self.spec.search
        # ``prefetch`` counts chunks; each chunk has several questions, so fetch as many more.
        questions = self.spec.questions
        questions_per_chunk = (
            questions.count if questions is not None and self.kinds == ("question",) else 1
        )
        return RankFusion(
            k=search.rrf_k,
            dense_weight=search.dense_weight,
            sparse_weight=search.sparse_weight,
            prefetch=search.prefetch * questions_per_chunk,
        )

    def make_query(self, mode: Mode, count: int, min_score: float | None = None) -> Query:
        """Make the store's query for the next ``count`` points."""
        return Query(
            dense=self.dense,
            sparse=self.sparse,
            fusion=self.fusion if mode == Mode.HYBRID else None,
            filter=self.filter,
            limit=count,
            offset=len(self.points),
            min_score=min_score,
        )

    def add_points(self, points: Sequence[ScoredPoint], count: int) -> None:
        """Append the points that a query for ``count`` points returned."""
        self.points += points
        self.has_more = len(points) == count

    def reset(self) -> None:
        """Discard all points, so that the next query starts from the first."""
        self.points.clear()
        self.has_more = True


class Candidate:
    """A point that a target returned, not checked yet.

    Not a dataclass, and its key is computed once: a search creates hundreds of candidates and
    reads each key many times.
    """

    __slots__ = ("key", "point", "target")

    def __init__(self, target: Target, point: ScoredPoint) -> None:
        self.target = target
        self.point = point
        self.key: PointKey = (target.build_id, point.id.int)

    @property
    def sort_key(self) -> tuple[float, int]:
        """Orders the best first; ties by node id."""
        return -self.point.score, self.key[1]


def get_passage_id(point_id: UUID, payload: Payload) -> str:
    """Return the id of the chunk: a question's chunk id, or the chunk's own point id."""
    return str(payload["chunk_id"] if payload.get("kind") == "question" else point_id)


def merge_candidates(targets: Iterable[Target]) -> list[Candidate]:
    """Merge the points of all targets into one ranking, best first."""
    found = [Candidate(target, point) for target in targets for point in target.points]
    found.sort(key=lambda each: each.sort_key)
    return found


# --- Finding them ----------------------------------------------------------------------------


def find_builds(indexes: Sequence[str | IndexBuild]) -> dict[str, LiveBuild | None]:
    """Map each index name to the build to search, None where no build is live.

    Raises:
        UnknownIndex: with the names there are.
    """
    names = {index for index in indexes if isinstance(index, str)}
    live = read_live_builds(names) if names else {}
    unknown = sorted(names - live.keys())
    if unknown:
        raise UnknownIndex(
            f"There is no index {unknown[0][:100]!r}.",
            field="index",
            allowed=Index.objects.values_list("name", flat=True),
        )
    builds: dict[str, LiveBuild | None] = {}
    for given in indexes:
        if isinstance(given, str):
            builds.setdefault(given, live[given])
        else:
            builds.setdefault(given.index_id, _to_live_build(given))
    return builds


def make_targets(
    builds: Iterable[LiveBuild | None], kinds: Sequence[str], filter: Mapping[str, Any] | None
) -> list[Target]:
    """Make one target for each build. All ``kinds`` must be stored in the same collection.

    Raises:
        InvalidInput: a build holds no nodes of these kinds, they do not share an embedding
            model, or the filter is wrong.
    """
    targets = []
    for build in builds:
        if build is None:
            continue
        spec = parse_recipe(build.recipe)
        held_kinds = tuple(kind for kind in kinds if kind in spec.kinds)
        if not held_kinds:
            raise _make_missing_kinds_error(build.index, kinds)
        parsed_filter = parse_filter(filter, spec)
        kinds_in_collection = [
            kind
            for kind in spec.kinds
            if COLLECTION_BY_KIND[kind] == COLLECTION_BY_KIND[held_kinds[0]]
        ]
        if len(held_kinds) < len(kinds_in_collection):
            kind_filter = Match("kind", held_kinds)
            parsed_filter = (
                kind_filter if parsed_filter is None else AllOf([kind_filter, parsed_filter])
            )
        collection = f"{spec.collection_alias(held_kinds[0])}.{build.number}"
        targets.append(Target(build.index, build.id, spec, held_kinds, collection, parsed_filter))
    _require_same_embedding_model(targets)
    return targets


def wait_for_revision(targets: Iterable[Target], revision: int | None) -> None:
    """Wait until all targets have indexed everything written up to ``revision``.

    Raises:
        NotYetIndexed: a target did not reach it in time.
    """
    if revision is not None:
        for target in targets:
            revisions.wait_for_revision(target.index, target.build_id, target.kinds, revision)


def set_query_vectors(query: str, mode: Mode, targets: Sequence[Target]) -> None:
    """Set the query's vectors on every target; embeds the query once.

    Raises:
        EmbeddingUnavailable: retry helps.
    """
    if not targets:
        return
    if mode != Mode.SPARSE:
        dense = embedding.get_embedder(targets[0].embedding).embed_query(query)
        for target in targets:
            target.dense = dense
    if mode != Mode.DENSE:
        for target in targets:
            target.sparse = encode_sparse_query(target.spec.sparse, query)


@lru_cache(maxsize=256)
def parse_recipe(recipe: str) -> IndexSpec:
    """Parse a build's recipe. Cached, because validating a spec costs as much as a search."""
    return IndexSpec.model_validate_json(recipe)


def _to_live_build(build: IndexBuild) -> LiveBuild:
    return LiveBuild(build.index_id, build.pk, build.number, json.dumps(build.recipe))


def _require_same_embedding_model(targets: Sequence[Target]) -> None:
    spaces: dict[tuple[str | int, ...], str] = {}
    for target in targets:
        model = target.embedding
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


def _make_missing_kinds_error(index: str, kinds: Sequence[str]) -> InvalidInput:
    wanted = " or ".join(KIND_LABELS[kind] for kind in kinds)
    return InvalidInput(
        f"The index {index} holds no {wanted}.",
        field="index",
        allowed=[
            build.index_id
            for build in IndexBuild.objects.live()
            if any(kind in build.spec.kinds for kind in kinds)
        ],
        fix="Its spec says which kinds of node it holds.",
    )


# --- Explaining ------------------------------------------------------------------------------


def explain_scores(mode: Mode, candidates: Sequence[Candidate]) -> dict[PointKey, Explanation]:
    """Explain the score of each candidate, by key.

    Raises:
        StoreUnavailable: retry helps.
    """
    explanations: dict[PointKey, Explanation] = {}
    for target in {id(found.target): found.target for found in candidates}.values():
        scores = {
            found.point.id: found.point.score for found in candidates if found.target is target
        }
        if mode == Mode.HYBRID:
            target_explanations = explain_fused_ranking(
                target.collection,
                scores,
                dense=target.dense,
                sparse=target.sparse,
                fusion=target.fusion,
                filter=target.filter,
            )
        else:
            target_explanations = explain_single_ranking(
                target.points, scores, is_dense=mode == Mode.DENSE
            )
        for point_id, explanation in target_explanations.items():
            explanations[target.build_id, point_id.int] = explanation
    return explanations
