"""Explain a pipeline's result: the steps of a passage, and which component lost a missing one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from access.grants import Grant
from answers.asking import AskRequest, PipelineHits, QueryRanking
from answers.pipelines.empty_results import split_conditions
from answers.pipelines.loading import LoadedPipeline
from documents.groups import is_visible
from documents.models import Artifact
from indexing.models import Node
from indexing.stores import AllOf, Match, Payload
from retrieval.filters import parse_filter
from retrieval.ledger import LiveBuild
from retrieval.passages import Passage
from retrieval.search import MAX_CANDIDATES, Hit, Versions
from retrieval.search.multi_query import choose_passage_kind
from retrieval.search.targets import Target, find_builds, make_targets
from retrieval.visible_points import VisiblePoints

MAX_NODES: Final = 1_000  # nodes of an artifact searched for in the rankings


class _Loss(NamedTuple):
    """``stage`` is the component that lost it, or ``question``, ``index``, ``ledger``, ``store`` or
    ``filter``; None for a hit. ``more``: further fields of the result."""

    stage: str | None
    reason: str
    more: Mapping[str, Any] = {}


def explain_absence(
    loaded: LoadedPipeline,
    outputs: Mapping[str, Mapping[str, Any]],
    question: AskRequest,
    found: PipelineHits,
) -> dict[str, Any]:
    """Find where the node or the artifact ``question.why_not`` was lost, from the outputs of all
    components.

    The ``ranks`` of the result hold, for each query, the best dense, sparse and fused rank among
    MAX_CANDIDATES; None if the ranking does not contain it."""
    assert question.why_not is not None
    loss = _find_loss(loaded, outputs, question, found, question.why_not)
    sought_id = str(question.why_not)
    return {"id": sought_id, "lost_at": loss.stage, "reason": loss.reason, **loss.more}


def _find_loss(
    loaded: LoadedPipeline,
    outputs: Mapping[str, Mapping[str, Any]],
    question: AskRequest,
    found: PipelineHits,
    sought_id: UUID,
) -> _Loss:
    if found.refusal is not None:
        return _Loss("question", f"The question was refused: {found.refusal.detail}")
    index, grant = question.index, question.grant
    build = find_builds([index], grant)[index]
    nodes = [] if build is None else _find_nodes(build, sought_id)
    if build is None or not nodes:
        return _explain_not_indexed(index, sought_id, grant)
    if unsynced := _explain_unsynced(nodes):
        return unsynced
    [target] = make_targets([build], [nodes[0].kind])
    if not VisiblePoints(grant).retrieve(target.collection, [node.point_id for node in nodes]):
        reason = "Its ledger row is synced, but it has no point; run strata verify --repair."
        return _Loss("store", reason)
    if condition := _find_failing_condition(target, nodes, found.filter):
        reason = f"The filter excludes it: {condition}"
        return _Loss("filter", reason, {"condition": condition})
    ids = {str(node.point_id) for node in nodes} | {str(sought_id)}
    ranks = _find_ranks(question, found, ids)
    loss = _find_losing_component(loaded, outputs, ids, str(nodes[0].artifact_id), ranks)
    return loss._replace(more={"ranks": ranks})


def _find_nodes(build: LiveBuild, sought_id: UUID) -> list[Node]:
    """The node with this id, or the artifact's nodes, of the kind that pipelines search."""
    nodes = Node.objects.filter(build=build.id, kind=choose_passage_kind(build))
    rows = nodes.filter(is_visible(build.grant, "artifact__"))
    return list(rows.filter(point_id=sought_id) or rows.filter(artifact=sought_id)[:MAX_NODES])


def _explain_not_indexed(index: str, sought_id: UUID, grant: Grant) -> _Loss:
    # Look in this index only: a caller may not have access to the others.
    artifact = Artifact.objects.visible_to(grant).filter(pk=sought_id, index=index).first()
    if artifact is None:
        return _Loss("index", f"{index} has no node and no artifact of this id.")
    return _Loss("index", f"The artifact has no passages; it is {artifact.state}.")


def _explain_unsynced(nodes: Sequence[Node]) -> _Loss | None:
    states = {node.state for node in nodes}
    if Node.State.SYNCED in states:
        return None
    error = next((f": {node.last_error}" for node in nodes if node.last_error), "")
    return _Loss("ledger", f"It is not in the store yet; its state is {nodes[0].state}{error}.")


def _find_failing_condition(
    target: Target, nodes: Sequence[Node], filter: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The first filter condition that none of the nodes matches, as counted by the store."""
    sources = [str(source_id) for source_id in {node.source_id for node in nodes}]
    for condition in split_conditions(filter or {}):
        parsed = parse_filter(condition, target.spec, target.grant)
        if parsed is None:
            continue
        condition_on_nodes = AllOf([Match("source_id", sources), parsed])
        if not VisiblePoints(target.grant).count(target.collection, condition_on_nodes):
            return condition
    return None


def _find_ranks(question: AskRequest, found: PipelineHits, ids: set[str]) -> list[dict[str, Any]]:
    from retrieval.retrievers import QueriesRetriever  # imports LlamaIndex

    options: dict[str, Any] = {"limit": MAX_CANDIDATES, "multiplier": 1, "filter": found.filter}
    retriever = QueriesRetriever(
        question.index, grant=question.grant, versions=Versions.ALL, **options
    )
    rankings = retriever.search_queries(found.queries).rankings
    return [
        {"query": query, **_find_best_ranks(ranking, ids)}
        for query, ranking in zip(found.queries, rankings, strict=True)
    ]


def _find_best_ranks(ranking: Sequence[Hit], ids: set[str]) -> dict[str, Any]:
    for rank, hit in enumerate(ranking, start=1):
        if _matching_ids(hit.payload, str(hit.node_id)) & ids:
            explanation = hit.explanation
            assert explanation is not None
            return {
                "dense": explanation.dense and explanation.dense.rank,
                "sparse": explanation.sparse and explanation.sparse.rank,
                "fused": rank,
                "similarity": hit.similarity,
            }
    return dict.fromkeys(("dense", "sparse", "fused", "similarity"))


def _find_losing_component(
    loaded: LoadedPipeline,
    outputs: Mapping[str, Mapping[str, Any]],
    ids: set[str],
    artifact_id: str,
    ranks: Sequence[Mapping[str, Any]],
) -> _Loss:
    """Find the component after the last one that returned the node or artifact."""
    last_seen: tuple[str, int] | None = None  # last component that returned it, and its rank there
    lost_by: tuple[str, list[Sequence[Passage]]] | None = None
    for name in loaded.execution_order:
        rankings = list(_iter_rankings(outputs.get(name, {})))
        rank = min((r for ranking in rankings if (r := _find_rank(ranking, ids))), default=None)
        if rank is not None:
            last_seen, lost_by = (name, rank), None
        elif rankings and lost_by is None:
            lost_by = name, rankings
    if lost_by is None:
        assert last_seen is not None  # the hits component always returns a ranking
        return _Loss(None, f"It is hit number {last_seen[1]}.")
    component, rankings = lost_by
    returned_count = max(len(ranking) for ranking in rankings)
    returned = [passage for ranking in rankings for passage in ranking]
    folded = (each.candidate.point.id for passage in returned for each in passage.hit.folded)
    if any(str(point_id) in ids for point_id in folded):
        return _Loss(component, "A hit stands for it, too; with versions: all it has its place.")
    if last_seen is not None:
        if any(passage.hit.payload["artifact_id"] == artifact_id for passage in returned):
            return _Loss(component, "Another passage of its document was kept instead.")
        return _Loss(
            component,
            f"{last_seen[0]} returned it at rank {last_seen[1]}; it is not among the best "
            f"{returned_count} that {component} returned.",
        )
    best = min((each["fused"] for each in ranks if each["fused"]), default=None)
    if best is None:
        return _Loss(component, f"It is not among the best {MAX_CANDIDATES} passages of any query.")
    return _Loss(
        component,
        f"Its best rank for any query is {best}; {component} returned the best {returned_count}.",
    )


def _iter_rankings(content: Mapping[str, Any]) -> Iterator[Sequence[Passage]]:
    rankings: Iterable[QueryRanking] = content.get("rankings", ())
    yield from (ranking.passages for ranking in rankings)
    if "passages" in content:
        yield content["passages"]


def _find_rank(ranking: Sequence[Passage], ids: set[str]) -> int | None:
    for rank, passage in enumerate(ranking, start=1):
        if _matching_ids(passage.hit.payload, passage.id) & ids:
            return rank
    return None


def _matching_ids(payload: Payload, node_id: str) -> set[str]:
    """Ids that match a passage: its node id and, for a question node, its chunk id. The artifact
    id is left out because the artifact's nodes are searched one by one."""
    chunk_id = payload.get("chunk_id") if payload.get("kind") == "question" else None
    return {node_id} if chunk_id is None else {node_id, str(chunk_id)}
