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
Key = tuple[int, int]

# What nodes of a kind are called where people read of them.
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
    """One collection of one build to be searched, and what it gave so far, best first."""

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
        # Candidates are counted in what is answered, and questions are answered by chunks.
        questions = self.spec.questions
        each = questions.count if questions is not None and self.kinds == ("question",) else 1
        return RankFusion(
            k=search.rrf_k,
            dense_weight=search.dense_weight,
            sparse_weight=search.sparse_weight,
            prefetch=search.prefetch * each,
        )

    def query(self, mode: Mode, count: int, min_score: float | None = None) -> Query:
        """For the next ``count`` points."""
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
        """Keep what a query for ``count`` points gave."""
        self.points += points
        self.has_more = len(points) == count

    def reset(self) -> None:
        """Begin anew."""
        self.points.clear()
        self.has_more = True


class Candidate:
    """A point of a target. No dataclass, and its key made once: a search makes a hundred of them,
    and asks each for its key many times."""

    __slots__ = ("key", "point", "target")

    def __init__(self, target: Target, point: ScoredPoint) -> None:
        self.target = target
        self.point = point
        self.key: Key = (target.build_id, point.id.int)

    @property
    def sort_key(self) -> tuple[float, int]:
        """Orders the best first; ties by node id."""
        return -self.point.score, self.key[1]


def get_passage_id(point_id: UUID, payload: Payload) -> str:
    """What makes two points the same passage: a question stands for the chunk it was asked of."""
    return str(payload["chunk_id"] if payload.get("kind") == "question" else point_id)


def merge_candidates(targets: Iterable[Target]) -> list[Candidate]:
    """All that was found, best first."""
    found = [Candidate(target, point) for target in targets for point in target.points]
    found.sort(key=lambda each: each.sort_key)
    return found


# --- Finding them ----------------------------------------------------------------------------


def find_builds(indexes: Sequence[str | IndexBuild]) -> dict[str, LiveBuild | None]:
    """Index name -> the build that answers for it, None where none is live; each once.

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
            builds.setdefault(given.index_id, _require_name_or_build(given))
    return builds


def make_targets(
    builds: Iterable[LiveBuild | None], kinds: Sequence[str], filter: Mapping[str, Any] | None
) -> list[Target]:
    """One for each build, of the collection these kinds live in (there is but one).

    Raises:
        InvalidInput: a build holds no nodes of these kinds, they do not share an embedding
            model, or the filter is wrong.
    """
    targets = []
    for build in builds:
        if build is None:
            continue
        spec = parse_recipe(build.recipe)
        held = tuple(kind for kind in kinds if kind in spec.kinds)
        if not held:
            raise _describe_missing_kinds(build.index, kinds)
        parsed = parse_filter(filter, spec)
        shares = [
            kind for kind in spec.kinds if COLLECTION_BY_KIND[kind] == COLLECTION_BY_KIND[held[0]]
        ]
        if len(held) < len(shares):
            of_kinds = Match("kind", held)
            parsed = of_kinds if parsed is None else AllOf([of_kinds, parsed])
        collection = f"{spec.collection_alias(held[0])}.{build.number}"
        targets.append(Target(build.index, build.id, spec, held, collection, parsed))
    _require_one_model(targets)
    return targets


def wait_for_revision(targets: Iterable[Target], revision: int | None) -> None:
    """Return once all these show what was written up to ``revision``.

    Raises:
        NotYetIndexed: one of them did not in time.
    """
    if revision is not None:
        for target in targets:
            revisions.wait_for_revision(target.index, target.build_id, target.kinds, revision)


def encode_query(query: str, mode: Mode, targets: Sequence[Target]) -> None:
    """Give every target the query as it searches by it; the model is asked once.

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
    """Kept: validating a spec for each request would cost as much as the search."""
    return IndexSpec.model_validate_json(recipe)


def _require_name_or_build(build: IndexBuild) -> LiveBuild:
    return LiveBuild(build.index_id, build.pk, build.number, json.dumps(build.recipe))


def _require_one_model(targets: Sequence[Target]) -> None:
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


def _describe_missing_kinds(index: str, kinds: Sequence[str]) -> InvalidInput:
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


def explain_scores(mode: Mode, page: Sequence[Candidate]) -> dict[Key, Explanation]:
    """By key, what gave each of these its score.

    Raises:
        StoreUnavailable: retry helps.
    """
    explanations: dict[Key, Explanation] = {}
    for target in {id(found.target): found.target for found in page}.values():
        scores = {found.point.id: found.point.score for found in page if found.target is target}
        if mode == Mode.HYBRID:
            shares = explain_fused_ranking(
                target.collection,
                scores,
                dense=target.dense,
                sparse=target.sparse,
                fusion=target.fusion,
                filter=target.filter,
            )
        else:
            shares = explain_single_ranking(target.points, scores, is_dense=mode == Mode.DENSE)
        for point_id, explanation in shares.items():
            explanations[target.build_id, point_id.int] = explanation
    return explanations
