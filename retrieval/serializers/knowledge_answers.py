"""What searches of concepts, relationships and passages answer, as plain dicts."""

from collections.abc import Sequence
from typing import Any

from concepts.models import EmergentPair, Entity, Instance
from concepts.serializers import render_instance, render_relationship
from documents.models import Source
from retrieval.knowledge.bearing import BearingSource, Evidence
from retrieval.knowledge.bridges import Bridge
from retrieval.knowledge.concepts import ConceptHit, TypeHit, Way
from retrieval.knowledge.entries import Routes
from retrieval.knowledge.graph import Path, Subgraph
from retrieval.knowledge.nearest import Nearest
from retrieval.knowledge.passages import SourceHit
from retrieval.serializers.answers import render_chunk, render_head

COSINE = "cosine"


def render_concept_hits(nearest: Nearest, hits: Sequence[ConceptHit]) -> dict[str, Any]:
    return _head(nearest) | {"hits": [_render_concept(hit) for hit in hits]}


def render_type_hits(nearest: Nearest, hits: Sequence[TypeHit]) -> dict[str, Any]:
    return _head(nearest) | {"hits": [_render_type(hit) for hit in hits]}


def render_source_hits(nearest: Nearest, hits: Sequence[SourceHit]) -> dict[str, Any]:
    return _head(nearest) | {"hits": [_render_source(hit) for hit in hits]}


def render_routes(nearest: Nearest, routes: Routes) -> dict[str, Any]:
    entry = None
    if routes.entry is not None:
        kind, entry_id, similarity = routes.entry
        entry = {"kind": kind, "id": str(entry_id), "similarity": similarity}
    return _head(nearest) | {
        "entry": entry,
        "concepts": [_render_concept(hit) for hit in routes.concepts],
        "sources": [_render_source(hit) for hit in routes.sources],
        "relationship_types": [_render_type(hit) for hit in routes.types],
    }


def render_subgraph(nearest: Nearest, graph: Subgraph) -> dict[str, Any]:
    return _head(nearest) | {
        "concepts": [_render_concept(hit) for hit in graph.concepts],
        "sources": [_render_source(hit) for hit in graph.sources],
        "relationship_types": [_render_type(hit) for hit in graph.types],
        "relationships": [render_relationship(edge) for edge in graph.edges],
        "evidence": [
            {"concept": str(each.concept_id), **render_instance(each)} for each in graph.instances
        ],
    }


def render_evidence(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    return [
        {**render_instance(each.instance), "similarity": each.similarity, "way": "evidence"}
        for each in evidence
    ]


def render_context(sources: Sequence[BearingSource]) -> list[dict[str, Any]]:
    return [
        {
            **_render_passage(each.source),
            "evidence": [render_instance(instance) for instance in each.instances],
            "neighbours": [_render_neighbour(neighbour) for neighbour in each.neighbours],
        }
        for each in sources
    ]


def render_paths(paths: Sequence[Path]) -> list[dict[str, Any]]:
    return [
        {
            "similarity": path.similarity,
            "concepts": [str(concept_id) for concept_id in path.concept_ids],
            "steps": [
                {
                    **render_relationship(step.edge),
                    "similarity": step.similarity,
                    "like": step.like,
                    "reversed": step.edge.source_id != begins_at,
                }
                for step, begins_at in zip(path.steps, path.concept_ids, strict=False)
            ],
        }
        for path in paths
    ]


def render_pair(pair: EmergentPair, bridges: Sequence[Bridge] = ()) -> dict[str, Any]:
    """``similarities`` of a bridge: to the first concept and to the second."""
    ends = [{"id": str(end.pk), "label": end.label} for end in (pair.first, pair.second)]
    return {
        "id": str(pair.pk),
        "index": pair.first.artifact.index,
        "concepts": ends,
        "similarity": pair.similarity,
        "way": "nearness",
        "state": "open" if pair.dismissed_at is None else "dismissed",
        "found_at": pair.found_at,
        "bridges": [
            {
                **_render_source(bridge.first),
                "score": bridge.similarity,
                "similarity": bridge.similarity,
                "similarities": [bridge.first.similarity, bridge.second.similarity],
                "ways": [_render_way(Way("source", bridge.similarity))],
                "chunks": [
                    render_chunk(hit.chunks[0], COSINE) for hit in (bridge.first, bridge.second)
                ],
            }
            for bridge in bridges
        ],
    }


def _head(nearest: Nearest) -> dict[str, Any]:
    return render_head(nearest.builds, nearest.took_ms)


def _render_concept(hit: ConceptHit) -> dict[str, Any]:
    concept = hit.concept
    return _entity("concept", concept, hit.score) | {
        "id": str(concept.pk),
        "index": concept.artifact.index,
        "label": concept.label,
        "description": concept.description,
        "search_terms": concept.search_terms,
        # What was not read from the vector store was read where it is written.
        "verdict": hit.verdict or "exact",
        "ways": [_render_way(way) for way in hit.ways],
        "evidence": [render_instance(instance) for instance in hit.instances],
    }


def _render_type(hit: TypeHit) -> dict[str, Any]:
    kind = hit.type
    return _entity("relationship_type", kind, hit.way.score) | {
        "id": str(kind.pk),
        "index": kind.artifact.index,
        "name": kind.name,
        "category": kind.category,
        "description": kind.description,
        "verdict": hit.verdict,
        "ways": [_render_way(hit.way)],
        "relationships": [render_relationship(edge) for edge in hit.edges],
    }


def _entity(kind: str, entity: Entity, score: float) -> dict[str, Any]:
    """What every hit has. It stands in no text itself: its evidence does, or that of the concepts
    it relates."""
    return {
        "score": score,
        "score_kind": COSINE,
        "node_id": str(entity.pk),
        "kind": kind,
        "text": entity.text,
        "start_offset": None,
        "end_offset": None,
        "artifact": {
            "id": str(entity.pk),
            "title": entity.artifact.title,
            "external_id": None,
        },
        "page": None,
        "source": None,
        "metadata": {},
    }


def _render_way(way: Way) -> dict[str, Any]:
    return {
        "way": way.name,
        "similarity": way.similarity,
        "weight": way.weight,
        "score": way.score,
        "through": dict(way.through),
    }


def _render_source(hit: SourceHit) -> dict[str, Any]:
    place = hit.chunks[0].payload
    source = hit.source
    rendered = {
        "id": str(hit.source_id),
        "ordinal": place.get("source_ordinal"),
        "heading": None,
        "text": None,
        "artifact": {
            "id": place.get("artifact_id"),
            "title": place.get("artifact_title"),
            "external_id": place.get("external_id"),
        },
        "page": {"id": place.get("page_id"), "index": place.get("page_index")},
    }
    if source is not None:
        rendered = _render_passage(source)
    return rendered | {
        "kind": "source",
        "index": hit.index,
        "similarity": hit.similarity,
        "score": hit.similarity,
        "score_kind": COSINE,
        "stale": hit.is_stale,
        "ways": [_render_way(Way("source", hit.similarity))],
        "chunks": [render_chunk(chunk, COSINE) for chunk in hit.chunks],
        "concepts": [_render_borne(instance) for instance in hit.instances],
        "neighbours": [_render_neighbour(neighbour) for neighbour in hit.neighbours],
    }


def _render_borne(instance: Instance) -> dict[str, Any]:
    return {
        "id": str(instance.concept_id),
        "label": instance.concept.label,
        "evidence": render_instance(instance),
    }


def _render_passage(source: Source) -> dict[str, Any]:
    return {
        "id": str(source.pk),
        "ordinal": source.ordinal,
        "heading": source.heading,
        "text": source.text,
        "artifact": {
            "id": str(source.artifact_id),
            "title": source.artifact.title,
            "external_id": source.artifact.external_id,
        },
        "page": {"id": str(source.page_id), "index": source.page.index},
    }


def _render_neighbour(source: Source) -> dict[str, Any]:
    return {
        "id": str(source.pk),
        "ordinal": source.ordinal,
        "heading": source.heading,
        "text": source.text,
        "page": {"id": str(source.page_id), "index": source.page.index},
    }
