"""Why a passage is where it is, and where another was lost on the way."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from documents.models import Artifact
from indexing.models import Node
from indexing.stores import AllOf, Match, Payload, get_store
from retrieval.filters import parse_filter
from retrieval.ledger import LiveBuild
from retrieval.passages import Passage, Ranking, Refusal
from retrieval.pipelines.loading import LoadedPipeline
from retrieval.search import MAX_CANDIDATES, MeasuredHit, QueriesRequest, search_queries
from retrieval.search.targets import Target, find_builds, make_targets, read_spec

MAX_NODES: Final = 1_000  # of an artifact, looked for in the rankings


def explain_passage(passage: Passage) -> list[dict[str, Any]]:
    """Its way through the pipeline, ready for JSON: what each component did to it, in order."""
    return [{"component": step.component, **step.did} for step in passage.steps]


@dataclass(frozen=True, slots=True)
class _Absence:
    """``at``: the component, or ``question``, ``index``, ``ledger``, ``store`` or ``filter``; None
    for a hit."""

    at: str | None
    reason: str

    def as_json(self, sought: UUID, **more: Any) -> dict[str, Any]:
        return {"id": str(sought), "lost_at": self.at, "reason": self.reason, **more}


def explain_absence(
    loaded: LoadedPipeline,
    outputs: Mapping[str, Mapping[str, Any]],
    *,
    index: str,
    sought: UUID,
    filter: Mapping[str, Any] | None,
    queries: Sequence[str],
    refusal: Refusal | None,
) -> dict[str, Any]:
    """Where a node or an artifact was lost, read off all that the components gave.

    ``ranks`` are its best in each query's rankings by vectors, by words and of both, as deep as
    a search ever goes; None where it stands nowhere in one.

    Raises:
        StoreUnavailable, EmbeddingUnavailable: retry helps.
    """
    if refusal is not None:
        return _Absence("question", f"The question was refused: {refusal.detail}").as_json(sought)
    build = find_builds([index])[index]
    nodes = [] if build is None else _find_nodes(build, sought)
    if build is None or not nodes:
        return _not_in_index(index, sought).as_json(sought)
    [target] = make_targets([build], [nodes[0].kind], None)
    if unsynced := _find_unsynced(nodes):
        return unsynced.as_json(sought)
    if not get_store().retrieve(target.collection, [node.point_id for node in nodes]):
        reason = "Its row is synced and the store has no point of it: manage.py verify --repair."
        return _Absence("store", reason).as_json(sought)
    if condition := _find_failing_condition(target, nodes, filter):
        reason = f"The filter leaves it out: {condition}"
        return _Absence("filter", reason).as_json(sought, condition=condition)
    ids = {str(node.point_id) for node in nodes} | {str(sought)}
    ranks = _find_ranks(index, ids, filter, queries)
    loss = _find_loss(loaded, outputs, ids, str(nodes[0].artifact_id), ranks)
    return loss.as_json(sought, ranks=ranks)


def _find_nodes(build: LiveBuild, sought: UUID) -> list[Node]:
    """Of the kind that pipelines search: the node itself, or those of the artifact."""
    kind = "chunk" if "chunk" in read_spec(build.recipe).kinds else "question"
    rows = Node.objects.filter(build=build.id, kind=kind)
    return list(rows.filter(point_id=sought) or rows.filter(artifact=sought)[:MAX_NODES])


def _not_in_index(index: str, sought: UUID) -> _Absence:
    # Of this index alone: whoever may search it need not know what others hold.
    artifact = Artifact.objects.filter(pk=sought, index=index).first()
    if artifact is None:
        return _Absence("index", f"{index} has no node and no artifact of this id.")
    return _Absence("index", f"The artifact has no passages; it is {artifact.state}.")


def _find_unsynced(nodes: Sequence[Node]) -> _Absence | None:
    states = {node.state for node in nodes}
    if Node.State.SYNCED in states:
        return None
    error = next((f": {node.last_error}" for node in nodes if node.last_error), "")
    return _Absence("ledger", f"It is not in the store yet; its state is {nodes[0].state}{error}.")


def _find_failing_condition(
    target: Target, nodes: Sequence[Node], filter: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The first condition that none of the nodes meets; the store judges it."""
    sources = [str(source_id) for source_id in {node.source_id for node in nodes}]
    for condition in _split(filter or {}):
        parsed = parse_filter(condition, target.spec)
        if parsed is None:
            continue
        of_these = AllOf([Match("source_id", sources), parsed])
        if not get_store().count(target.collection, of_these):
            return condition
    return None


def _split(filter: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Conditions that all hold, one by one."""
    for key, value in filter.items():
        if key == "all_of":
            for part in value:
                yield from _split(part)
        else:
            yield {key: value}


def _find_ranks(
    index: str, ids: set[str], filter: Mapping[str, Any] | None, queries: Sequence[str]
) -> list[dict[str, Any]]:
    answer = search_queries(
        QueriesRequest(index=index, queries=queries, limit=MAX_CANDIDATES, filter=filter)
    )
    return [
        {"query": query, **_best_ranks(ranking, ids)}
        for query, ranking in zip(queries, answer.rankings, strict=True)
    ]


def _best_ranks(ranking: Sequence[MeasuredHit], ids: set[str]) -> dict[str, Any]:
    for rank, measured in enumerate(ranking, start=1):
        if not _names(measured.hit.payload, str(measured.hit.node_id)) & ids:
            continue
        explanation = measured.hit.explanation
        assert explanation is not None
        return {
            "dense": explanation.dense and explanation.dense.rank,
            "sparse": explanation.sparse and explanation.sparse.rank,
            "fused": rank,
            "similarity": measured.similarity,
        }
    return {"dense": None, "sparse": None, "fused": None, "similarity": None}


def _find_loss(
    loaded: LoadedPipeline,
    outputs: Mapping[str, Mapping[str, Any]],
    ids: set[str],
    artifact_id: str,
    ranks: Sequence[Mapping[str, Any]],
) -> _Absence:
    """The first component that had it and did not hand it on."""
    before: tuple[str, int] | None = None  # who had it last, and at which rank
    for component in loaded.order:
        rankings = list(_rankings_of(outputs.get(component, {})))
        if not rankings:
            continue
        rank = min((r for ranking in rankings if (r := _find_rank(ranking, ids))), default=None)
        if rank is None:
            return _explain_loss(component, before, rankings, artifact_id, ranks)
        before = component, rank
    assert before is not None  # the last has the hits, and gave some list
    return _Absence(None, f"It is hit number {before[1]}.")


def _explain_loss(
    component: str,
    before: tuple[str, int] | None,
    rankings: Sequence[Sequence[Passage]],
    artifact_id: str,
    ranks: Sequence[Mapping[str, Any]],
) -> _Absence:
    handed_on = max(len(ranking) for ranking in rankings)
    if before is not None and any(
        passage.hit.payload["artifact_id"] == artifact_id
        for ranking in rankings
        for passage in ranking
    ):
        return _Absence(component, "Another passage of its document stands for it.")
    if before is not None:
        reason = f"It came from {before[0]} at rank {before[1]}; {component} handed on {handed_on}."
        return _Absence(component, reason)
    best = min((found["fused"] for found in ranks if found["fused"]), default=None)
    if best is None:
        return _Absence(
            component,
            f"No query found it among its best {MAX_CANDIDATES}, by vectors or by words.",
        )
    return _Absence(
        component, f"Its best rank for any query is {best}; {component} went {handed_on} deep."
    )


def _rankings_of(content: Mapping[str, Any]) -> Iterator[Sequence[Passage]]:
    rankings: Iterable[Ranking] = content.get("rankings", ())
    yield from (ranking.passages for ranking in rankings)
    if "passages" in content:
        yield content["passages"]


def _find_rank(ranking: Sequence[Passage], ids: set[str]) -> int | None:
    for rank, passage in enumerate(ranking, start=1):
        if _names(passage.hit.payload, passage.id) & ids:
            return rank
    return None


def _names(payload: Payload, node_id: str) -> set[str]:
    """All that a passage may be asked for by, its artifact not among them: the artifact's nodes
    are asked for one and all."""
    chunk_id = payload.get("chunk_id") if payload.get("kind") == "question" else None
    return {node_id} if chunk_id is None else {node_id, str(chunk_id)}
