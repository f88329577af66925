"""The collections to search, and the candidates that they return."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef

from access.grants import Grant
from core.exceptions import InvalidInput, UnknownIndex
from indexing.kinds import KINDS
from indexing.losses import make_loss_error
from indexing.models import Index, IndexBuild, Node
from indexing.spec import EmbeddingSpec, IndexSpec
from indexing.spec.loaded import explain_missing_index
from indexing.stores import (
    DenseVector,
    Filter,
    Match,
    Payload,
    ScoredPoint,
    SparseVector,
)
from retrieval.filters import all_of, parse_filter
from retrieval.fusion import HybridFusion, HybridRanking, mean_fusion
from retrieval.ledger import LiveBuild, read_live_builds
from retrieval.request_cache import once
from retrieval.search.long_queries import encode_terms
from retrieval.search.query_vectors import (
    add_synonyms,
    embed_queries_if_available,
    embed_query,
    explain_long_queries,
)
from retrieval.search.query_weights import BOTH_READ, QueryWeights, weigh_rankings
from retrieval.search.request import Mode

# Build id and point id; the point id as an integer, which hashes ten times as fast as a UUID.
PointKey = tuple[int, int]

# Notes on a query without a word that is searched, such as one of stop words.
WITHOUT_TERMS = {
    Mode.SPARSE: "Nothing was searched: the query has only punctuation and words that are left out "
    "of searches because most texts have them.",
    Mode.HYBRID: "Searched by its meaning only: the query has only punctuation and words that are "
    "left out of searches because most texts have them.",
}


@dataclass(frozen=True, eq=False, slots=True)
class SharedRanking:
    """Collections of several indexes that are ranked as one, with one fusion."""

    fusion: HybridFusion


@dataclass(eq=False, slots=True)
class Target:
    """A collection of one build to search, with the points it has returned so far, best first."""

    index: str
    build_id: int
    spec: IndexSpec
    kinds: tuple[str, ...]  # kinds to search; the collection may hold others
    collection: str
    grant: Grant
    filter: Filter | None = None
    query: str = ""
    words: str = ""  # what hits must have beside the query's words, searched by words, too
    dense: DenseVector | None = None
    sparse: SparseVector | None = None
    required_ids: Sequence[UUID] = ()  # points that the store must know; see ``Query``
    query_weights: QueryWeights = BOTH_READ
    depth: int = 0  # minimum number of points of each ranking to fuse
    needs_ranks: bool = False  # also return the ranks in the dense and the sparse ranking
    is_scored_by_rank: bool = False  # reciprocal ranks replace scores, which models do not share
    shared_ranking: SharedRanking | None = None  # with collections of other indexes
    points: list[ScoredPoint] = field(default_factory=list)
    ranking: HybridRanking | None = None  # set if Strata, not the store, fuses
    fetched_count: int = 0  # points of the ranking fetched so far
    has_more: bool = True

    @property
    def embedding(self) -> EmbeddingSpec:
        return self.spec.embedding_spec_for(self.kinds[0])

    @property
    def query_text(self) -> str:
        """The query with its synonyms, which is searched."""
        return add_synonyms(self.query, self.spec.search.synonyms)

    @property
    def space(self) -> Hashable:
        """Cosines of targets with the same space are comparable."""
        model = self.embedding
        return (
            model.provider, model.model, model.dimension,
            model.document_prefix, model.query_prefix, model.endpoint,
        )  # fmt: skip

    @property
    def sparse_space(self) -> Hashable:
        """Scores by terms of targets with the same space are comparable."""
        return self.spec.sparse.model

    @property
    def has_two_rankings(self) -> bool:
        """Whether a hybrid search has a vector and words to rank by, and both count."""
        has_words = self.sparse is not None and bool(self.sparse.indices)
        weights = self.spec.search.dense_weight and self.spec.search.sparse_weight
        return self.dense is not None and has_words and bool(weights)

    @property
    def fusion(self) -> HybridFusion:
        return self.own_fusion if self.shared_ranking is None else self.shared_ranking.fusion

    @property
    def own_fusion(self) -> HybridFusion:
        """The fusion that the settings of its index name."""
        search = self.spec.search
        # ``prefetch`` counts chunks; a chunk has several questions, so fetch that many times more.
        questions = self.spec.questions
        questions_per_chunk = (
            questions.count if questions is not None and self.kinds == ("question",) else 1
        )
        return HybridFusion(
            k=search.rrf_k,
            dense_weight=search.dense_weight * self.query_weights.dense,
            sparse_weight=search.sparse_weight * self.query_weights.sparse,
            prefetch=max(search.prefetch * questions_per_chunk, self.depth),
            method=search.fusion,
        )

    def reset(self) -> None:
        """Discard all points, so that the next query starts from the first."""
        self.points.clear()
        self.ranking = None
        self.fetched_count = 0
        self.has_more = True


class Candidate:
    """A point that a target returned, not checked yet.

    Not a dataclass, and its key is computed once: a search creates hundreds of candidates and
    reads each key many times. ``bonus``: what another passage of its page or artifact adds to the
    score of its point, or an earlier version. ``folded``: the passages that it stands for, too.
    """

    __slots__ = ("bonus", "folded", "key", "point", "target")

    def __init__(
        self,
        target: Target,
        point: ScoredPoint,
        bonus: float = 0.0,
        folded: "Sequence[Folded]" = (),
    ) -> None:
        self.target = target
        self.point = point
        self.bonus = bonus
        self.folded = folded
        self.key: PointKey = (target.build_id, point.id.int)

    @property
    def score(self) -> float:
        return self.point.score + self.bonus

    @property
    def sort_key(self) -> tuple[float, int]:
        """Orders the best first; ties by node id."""
        return -self.score, self.key[1]


class Folded(NamedTuple):
    """A passage that another one stands for: a copy of it, or of another version of its
    document."""

    candidate: Candidate
    is_copy: bool


def get_passage_id(point_id: UUID, payload: Payload) -> str:
    """Return the id of the chunk: a question's chunk id, or the chunk's own point id."""
    return str(payload["chunk_id"] if payload.get("kind") == "question" else point_id)


def get_passage_text(payload: Payload) -> str:
    """Return the text of the chunk, or of a summary."""
    if payload.get("kind") == "question":
        return str(payload["chunk_text"])
    return str(payload.get("text") or payload.get("summary_text") or "")


def merge_candidates(targets: Iterable[Target]) -> list[Candidate]:
    """Merge the points of all targets into one ranking, best first."""
    found = [Candidate(target, point) for target in targets for point in target.points]
    found.sort(key=lambda each: each.sort_key)
    return found


# --- Making targets --------------------------------------------------------------------------


def find_builds(indexes: Sequence[str | IndexBuild], grant: Grant) -> dict[str, LiveBuild | None]:
    """Map each index name to the build to search, None where no build is live. Raises
    ``PointsLost``: the store has lost points of one of them."""
    names = {index for index in indexes if isinstance(index, str)}
    visible = {name for name in names if grant.includes(name)}
    live = (
        once((frozenset(visible), grant), lambda: read_live_builds(visible, grant))
        if visible
        else {}
    )
    unknown = sorted(names - live.keys())
    if unknown:
        known = Index.objects.values_list("name", flat=True)
        fix = explain_missing_index(unknown[0]) if grant.indexes is None else None
        raise UnknownIndex.named(unknown[0], filter(grant.includes, known), fix)
    builds: dict[str, LiveBuild | None] = {}
    for requested in indexes:
        if isinstance(requested, str):
            builds.setdefault(requested, live[requested])
        else:
            builds.setdefault(requested.index_id, _to_live_build(requested, grant))
    for build in builds.values():
        if build is not None and build.has_lost_points:
            raise make_loss_error(build.index)
    return builds


def find_only_index(grant: Grant, kinds: Collection[str] = ()) -> str:
    """The index to search if a request names none: the only visible one that holds nodes of these
    kinds, or any if none is given.

    Raises:
        InvalidInput: several hold some, or none does.
    """
    held = Node.objects.filter(build=OuterRef("live_build"))
    if kinds:
        held = held.filter(kind__in=kinds)
    indexes = Index.objects.not_being_removed().filter(Exists(held))
    names = list(grant.limit(indexes).values_list("name", flat=True))
    if len(names) == 1:
        return names[0]
    if not names:
        if kinds:
            plurals = " or ".join(KINDS[kind].plural for kind in kinds)
            raise InvalidInput(f"No index holds {plurals}.", field="index")
        raise InvalidInput("No index holds a document yet.", field="index", fix="Add documents.")
    detail = "Several indexes could answer: name one."
    raise InvalidInput(detail, field="index", allowed=names)


def make_targets(
    builds: Iterable[LiveBuild | None],
    kinds: Sequence[str],
    filter: Mapping[str, Any] | None = None,
    query: str = "",
) -> list[Target]:
    """Make one target for each build. All ``kinds`` must be stored in the same collection. Raises
    ``InvalidInput``: a build holds no nodes of these kinds, or the filter is wrong."""
    targets = []
    for build in builds:
        if build is None:
            continue
        spec = build.spec
        held_kinds = tuple(kind for kind in kinds if kind in spec.kinds)
        if not held_kinds:
            raise _make_missing_kinds_error(build, kinds, spec.kinds)
        collection = KINDS[held_kinds[0]].collection
        kinds_in_collection = [kind for kind in spec.kinds if KINDS[kind].collection == collection]
        holds_others = len(held_kinds) < len(kinds_in_collection)
        kind_filter = Match("kind", held_kinds) if holds_others else None
        parsed_filter = all_of(kind_filter, parse_filter(filter, spec, build.grant))
        targets.append(
            Target(
                build.index,
                build.id,
                spec,
                held_kinds,
                f"{spec.collection_alias(held_kinds[0])}.{build.number}",
                build.grant,
                parsed_filter,
                query,
            )
        )
    return targets


def set_query_vectors(
    mode: Mode, targets: Sequence[Target], vector: DenseVector | None = None
) -> list[str]:
    """Set what a search needs of every target's query. In a hybrid search, mark the collections of
    several indexes to be ranked together. A given ``vector`` is taken in place of the queries' own.

    If the endpoint of a model fails, a hybrid search ranks the targets of this model by words only;
    the returned notes say so. A dense search raises ``EmbeddingUnavailable``."""
    notes: list[str] = []
    if vector is not None:
        require_same_model(targets)
        set_given_vector(targets, vector)
    elif mode != Mode.SPARSE:
        notes = _set_dense_vectors(mode, targets)
    notes += set_query_terms(mode, targets, weighs_rankings=vector is None)
    return list(dict.fromkeys(notes))


def set_given_vector(targets: Sequence[Target], vector: DenseVector) -> None:
    """Search every target by this vector. Raises ``InvalidInput``: it has not the dimension of a
    target's model."""
    for target in targets:
        model = target.embedding
        if len(vector) != model.dimension:
            raise InvalidInput(
                f"The vector has {len(vector):,} numbers; those of {model.model}, with which "
                f"{target.index} is embedded, have {model.dimension:,}.",
                field="vector",
                fix=f"Embed with the model of the index: POST indexes/{target.index}/embed.",
            )
        target.dense = vector


def _set_dense_vectors(mode: Mode, targets: Sequence[Target]) -> list[str]:
    """Embeds the queries of a model in one batch."""
    notes: list[str] = []
    vectors: dict[EmbeddingSpec, dict[str, DenseVector | None]] = {}
    for target in targets:
        vectors.setdefault(target.embedding, {})[target.query_text] = None
    for model, texts in vectors.items():
        if mode == Mode.DENSE:
            vectors[model] = {text: embed_query(model, text) for text in texts}
        else:
            embedded, new_notes = embed_queries_if_available(model, list(texts))
            vectors[model] = dict(zip(texts, embedded, strict=True))
            notes += new_notes
        if any(each is not None for each in vectors[model].values()):
            notes += explain_long_queries(model, list(texts))
    is_scored_by_rank = mode == Mode.DENSE and len(_group_by_model(targets)) > 1
    for target in targets:
        target.dense = vectors[target.embedding][target.query_text]
        target.is_scored_by_rank = is_scored_by_rank
        target.needs_ranks |= target.dense is None  # only one ranking, fused as two would be
    return notes


def set_query_terms(
    mode: Mode, targets: Sequence[Target], *, weighs_rankings: bool = True
) -> list[str]:
    """Set what a sparse or hybrid search needs beside the query's dense vectors. Returns a note for
    each ranking that cannot read the query; unless ``weighs_rankings``, both count in full."""
    is_scored_by_rank = mode == Mode.SPARSE and len({each.sparse_space for each in targets}) > 1
    for target in targets if mode != Mode.DENSE else ():
        target.sparse = encode_terms(
            target.spec.sparse,
            f"{target.words} {target.query_text}".lstrip(),
            has_vector=target.dense is not None and not target.words,
        )
        target.is_scored_by_rank |= is_scored_by_rank
    has_no_terms = any(each.sparse and not each.sparse.indices for each in targets if each.query)
    notes = [WITHOUT_TERMS[mode]] if has_no_terms else []
    if mode != Mode.HYBRID:
        return notes
    for target in targets if weighs_rankings else ():
        if target.has_two_rankings:  # a ranking that is the only one keeps its weight
            target.query_weights = weigh_rankings(
                target.spec, target.embedding, target.query, target.grant
            )
    _unite_indexes(targets)
    notes += [target.query_weights.note for target in targets if target.query_weights.note]
    return list(dict.fromkeys(notes))


def _unite_indexes(targets: Iterable[Target]) -> None:
    """Rank the collections of one kind as one."""
    by_collection: dict[str, list[Target]] = {}
    for target in targets:
        by_collection.setdefault(KINDS[target.kinds[0]].collection, []).append(target)
    for united in by_collection.values():
        if len({target.build_id for target in united}) > 1:
            shared = SharedRanking(mean_fusion([target.own_fusion for target in united]))
            for target in united:
                target.shared_ranking = shared


def _to_live_build(build: IndexBuild, grant: Grant) -> LiveBuild:
    is_lost = build.lost_at is not None
    return LiveBuild(build.index_id, build.pk, build.number, is_lost, build.stored_spec, grant)


def require_same_model(targets: Sequence[Target]) -> None:
    """Check that all targets have the same embedding model. Raises ``InvalidInput``: the targets do
    not share a model, so cosines are not comparable."""
    targets_by_model = _group_by_model(targets)
    if len(targets_by_model) > 1:
        models = ", ".join(
            f"{target.index} ({target.embedding.model})" for target in targets_by_model.values()
        )
        raise InvalidInput(
            "This search compares cosines, so its indexes must have the same embedding model, not "
            f"{models}.",
            field="index",
            fix="Search them one by one.",
        )


def _group_by_model(targets: Sequence[Target]) -> dict[Hashable, Target]:
    """Embedding model -> the first target that uses it."""
    first: dict[Hashable, Target] = {}
    for target in targets:
        first.setdefault(target.space, target)
    return first


def _make_missing_kinds_error(
    build: LiveBuild, kinds: Sequence[str], held_kinds: Sequence[str]
) -> InvalidInput:
    missing = " or ".join(KINDS[kind].plural for kind in kinds)
    return InvalidInput(
        f"The index {build.index} holds no {missing}.",
        field="index",
        allowed=list_live_indexes(build.grant, lambda held: any(kind in held for kind in kinds)),
        fix=_name_searches(held_kinds),
    )


def list_live_indexes(grant: Grant, has_kinds: Callable[[Collection[str]], bool]) -> list[str]:
    """The indexes whose live build holds these kinds."""
    builds = grant.limit(IndexBuild.objects.live()).readable()
    return [build.index_id for build in builds if has_kinds(build.spec.kinds)]


def _name_searches(kinds: Sequence[str]) -> str:
    """Say how these kinds are searched, over HTTP and by ``strata search``."""
    names = " and ".join(KINDS[kind].plural for kind in kinds)
    searches = list(dict.fromkeys(KINDS[kind].search for kind in kinds))
    paths = " or ".join(f"search/{search}" for search in searches)
    flags = " or ".join(f"--kind {search}" for search in searches)
    return f"It holds {names}: use {paths}, on the command line {flags}."
