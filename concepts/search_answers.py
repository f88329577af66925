"""Renders the answers of knowledge searches as plain dicts."""

from collections.abc import Sequence
from typing import Any

from concepts.knowledge.concepts import (
    ConceptHit,
    EntityHit,
    MatchReason,
    RelationshipAnswer,
    RelationshipTypeHit,
)
from concepts.knowledge.emergent import Bridge
from concepts.knowledge.graph import ConceptPath, Subgraph
from concepts.knowledge.query import KnowledgeAnswer
from concepts.knowledge.routing import RoutingResult
from concepts.knowledge.shared import SharedContext
from concepts.knowledge.sources import SourceHit
from concepts.models import Concept, EmergentPair, Instance
from concepts.serializers import render_quote, render_relationship
from documents.models import Source
from documents.serializers import render_reference
from retrieval.serializers.answers import (
    render_answer_head,
    render_artifact_reference,
    render_chunk,
    render_page_reference,
    render_source,
)

COSINE = "cosine"
WEIGHTED_SUM = "weighted_sum"  # of the similarities by which a concept was found


def render_hits(answer: KnowledgeAnswer[Sequence[EntityHit | SourceHit]]) -> dict[str, Any]:
    return _render_head(answer) | {"hits": [_render_hit(hit) for hit in answer.found]}


def render_relationship_hits(answer: RelationshipAnswer) -> dict[str, Any]:
    relationships = [
        {
            **render_relationship(hit.edge),
            "index": hit.edge.index,
            "kind": "relationship",
            "score": hit.score,
            "score_kind": COSINE,
            "verdict": hit.verdict or "exact",
            "quotes": [render_quote(instance) for instance in hit.quotes],
        }
        for hit in answer.relationships
    ]
    return render_hits(answer) | {"relationships": relationships}


def render_blended_concepts(answer: KnowledgeAnswer[list[ConceptHit]]) -> dict[str, Any]:
    hits = [_render_hit(hit) | {"score_kind": WEIGHTED_SUM} for hit in answer.found]
    return _render_head(answer) | {"hits": hits}


def render_routing(answer: KnowledgeAnswer[RoutingResult]) -> dict[str, Any]:
    routes, entry = answer.found, None
    if routes.best_entry_point is not None:
        kind, entry_id, similarity = routes.best_entry_point
        entry = {"kind": kind, "id": str(entry_id), "similarity": similarity}
    return _render_head(answer) | {"entry": entry} | _render_each_kind(routes)


def render_subgraph(answer: KnowledgeAnswer[Subgraph]) -> dict[str, Any]:
    graph = answer.found
    return {
        **_render_head(answer),
        **_render_each_kind(graph),
        "relationships": [render_relationship(edge) for edge in graph.edges],
        "relationship_count": graph.edge_count,
        "evidence": [
            {"concept": str(each.concept_id), **render_quote(each)} for each in graph.quotes
        ],
    }


def render_ranked_quotes(
    ranked: Sequence[tuple[Instance, float | None]],
) -> list[dict[str, Any]]:
    return [
        {**render_quote(instance), "similarity": similarity, "way": "evidence"}
        for instance, similarity in ranked
    ]


def render_concept_context(
    context: Sequence[tuple[Source, list[Instance], list[Source]]],
) -> list[dict[str, Any]]:
    return [
        {
            **_render_source_fields(source),
            "evidence": [render_quote(instance) for instance in instances],
            "neighbours": [render_source(neighbour) for neighbour in neighbours],
        }
        for source, instances, neighbours in context
    ]


def render_paths(paths: Sequence[ConceptPath]) -> list[dict[str, Any]]:
    return [
        {
            "similarity": path.similarity,
            "concepts": [str(concept_id) for concept_id in path.concept_ids],
            "steps": [
                {
                    **render_relationship(step.edge),
                    "similarity": step.similarity,
                    "like": step.like,
                    "reversed": step.edge.source_id != start_id,
                }
                for step, start_id in zip(path.steps, path.concept_ids, strict=False)
            ],
        }
        for path in paths
    ]


def render_shared(found: SharedContext) -> dict[str, Any]:
    return {
        "index": found.concepts[0].index,
        "concepts": [render_label(concept) for concept in found.concepts],
        "relationships": [render_relationship(edge) for edge in found.edges],
        "neighbours": [
            {
                **render_label(each.concept),
                "concepts": [render_label(concept) for concept in each.given],
                "relationships": [render_relationship(edge) for edge in each.edges],
            }
            for each in found.neighbours
        ],
        "neighbour_count": found.neighbour_count,
        "sources": [
            {
                **_render_source_fields(each.source),
                "concepts": [_render_quoted_concept(instance) for instance in each.quotes],
            }
            for each in found.sources
        ],
        "source_count": found.source_count,
    }


def render_label(concept: Concept) -> dict[str, Any]:
    return {"id": str(concept.pk), "label": concept.label}


def _render_quoted_concept(instance: Instance) -> dict[str, Any]:
    return {**render_label(instance.concept), "evidence": render_quote(instance)}


def render_emergent_pair(pair: EmergentPair, bridges: Sequence[Bridge] = ()) -> dict[str, Any]:
    """``id`` and ``found_at`` are null if the pair is not stored. ``similarities`` of a bridge: to
    the first concept and to the second."""
    ends = [render_label(end) for end in (pair.first, pair.second)]
    return {
        "id": None if pair.found_at is None else str(pair.pk),
        "index": pair.first.index,
        "concepts": ends,
        "similarity": pair.similarity,
        "way": "nearness",
        "state": "open" if pair.dismissed_at is None else "dismissed",
        "found_at": pair.found_at,
        "bridges": [
            {
                **_render_source_hit(bridge.first),
                "score": bridge.similarity,
                "similarity": bridge.similarity,
                "similarities": [bridge.first.similarity, bridge.second.similarity],
                "ways": [_render_match_reason(MatchReason("source", bridge.similarity))],
                "chunks": [
                    render_chunk(hit.chunks[0], COSINE) for hit in (bridge.first, bridge.second)
                ],
            }
            for bridge in bridges
        ],
    }


def _render_head(answer: KnowledgeAnswer[Any]) -> dict[str, Any]:
    return render_answer_head(answer.builds, answer.took_ms)


def _render_each_kind(found: RoutingResult) -> dict[str, Any]:
    return {
        "concepts": [_render_hit(hit) for hit in found.concepts],
        "sources": [_render_hit(hit) for hit in found.sources],
        "relationship_types": [_render_hit(hit) for hit in found.types],
    }


def _render_hit(hit: EntityHit | SourceHit) -> dict[str, Any]:
    if isinstance(hit, SourceHit):
        return _render_source_hit(hit)
    entity = hit.entity
    content: dict[str, Any] = {
        "id": str(entity.pk),
        "index": entity.index,
        "description": entity.description,
        "score": hit.score,
        "score_kind": COSINE,
        "node_id": str(entity.pk),
        "kind": hit.kind,
        "text": entity.text,
        # No document holds an entity's text.
        **dict.fromkeys(("start_offset", "end_offset", "artifact", "page", "source")),
        "metadata": {},
        # Without a verdict, the entity was read from the database and is therefore current.
        "verdict": hit.verdict or "exact",
        "ways": [_render_match_reason(reason) for reason in hit.reasons],
    }
    if isinstance(hit, ConceptHit):
        content["label"] = hit.entity.label
        content["search_terms"] = hit.entity.search_terms
        content["evidence"] = [render_quote(instance) for instance in hit.quotes]
    elif isinstance(hit, RelationshipTypeHit):
        content["name"] = hit.entity.name
        content["category"] = hit.entity.category
        content["relationships"] = [render_relationship(edge) for edge in hit.edges]
    return content


def _render_match_reason(reason: MatchReason) -> dict[str, Any]:
    return {
        "way": reason.name,
        "similarity": reason.similarity,
        "weight": reason.weight,
        "score": reason.score,
        "through": dict(reason.through),
    }


def _render_source_hit(hit: SourceHit) -> dict[str, Any]:
    payload = hit.chunks[0].payload
    source = hit.source
    rendered = {
        "id": str(hit.source_id),
        "ordinal": payload.get("source_ordinal"),
        "heading": None,
        "text": None,
        "artifact": render_artifact_reference(payload),
        "page": render_page_reference(payload),
    }
    if source is not None:
        rendered = _render_source_fields(source)
    return rendered | {
        "kind": "source",
        "index": hit.index,
        "similarity": hit.similarity,
        "score": hit.score,
        "score_kind": hit.score_kind,
        "stale": hit.is_stale,
        "ways": [_render_match_reason(MatchReason("source", hit.similarity))],
        "chunks": [render_chunk(chunk, hit.score_kind) for chunk in hit.chunks],
        "concepts": [_render_quoted_concept(each) for each in hit.quotes],
        "neighbours": [render_source(neighbour) for neighbour in hit.neighbours],
    }


def _render_source_fields(source: Source) -> dict[str, Any]:
    return {**render_source(source), "artifact": render_reference(source.artifact)}
