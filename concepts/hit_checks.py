"""Checks hits of concepts, relationship types and relationships against their rows."""

from collections.abc import Sequence
from functools import partial

from concepts.concept_nodes import END_FIELDS
from concepts.models import Concept, Relationship, RelationshipType
from indexing.models import Node
from retrieval.search.hit_checks import (
    HIDDEN,
    HitCheck,
    Verdict,
    collect_ids,
    text_matches_hash,
)
from retrieval.search.targets import Candidate, PointKey


def _check_entities(
    group: Sequence[Candidate], model: type[Concept] | type[RelationshipType]
) -> dict[PointKey, HitCheck]:
    """Check entities against their rows, because no document holds their text."""
    builds, ids = collect_ids(group)
    rows = Node.objects.filter(build__in=builds, point_id__in=ids)
    existing_keys = {
        (build_id, point.int) for build_id, point in rows.values_list("build_id", "point_id")
    }
    entities = model.objects.filter(pk__in=ids)
    texts = {entity.pk: entity.text for entity in entities}
    grant, visible_ids = group[0].target.grant, set(texts)
    if not grant.sees_all_documents:
        visible_ids = set(entities.visible_to(grant).values_list("pk", flat=True))
    return {
        found.key: _check_entity(found, texts[found.point.id])
        if found.point.id in visible_ids
        else HIDDEN
        for found in group
        if found.key in existing_keys and found.point.id in texts
    }


check_concepts = partial(_check_entities, model=Concept)
check_relationship_types = partial(_check_entities, model=RelationshipType)


def check_relationships(group: Sequence[Candidate]) -> dict[PointKey, HitCheck]:
    """Check relationships against their rows: the names in their payloads, and the hash of their
    text, which is emptied as soon as one of their quotes changes."""
    builds, ids = collect_ids(group)
    nodes = Node.objects.filter(build__in=builds, point_id__in=ids)
    existing_keys = {
        (build_id, point.int) for build_id, point in nodes.values_list("build_id", "point_id")
    }
    rows = Relationship.objects.filter(pk__in=ids)
    edges = {edge.pk: edge for edge in rows.with_concepts_and_type()}
    visible = rows.visible_to(group[0].target.grant)
    visible_ids = set(visible.values_list("pk", flat=True))

    def check(found: Candidate, edge: Relationship) -> HitCheck:
        payload = found.point.payload
        if not text_matches_hash(payload):
            return HitCheck(None)
        is_named = all(payload.get(name) == str(getattr(edge, name)) for name in END_FIELDS)
        if is_named and payload["text_hash"] == edge.text_hash:
            return HitCheck(Verdict.EXACT)
        return HitCheck(Verdict.STALE, edge.pk)

    return {
        found.key: check(found, edges[found.point.id]) if found.point.id in visible_ids else HIDDEN
        for found in group
        if found.key in existing_keys and found.point.id in edges
    }


def _check_entity(candidate: Candidate, text: str) -> HitCheck:
    payload = candidate.point.payload
    if not text_matches_hash(payload):
        return HitCheck(None)
    if payload["text"] == text:
        return HitCheck(Verdict.EXACT)
    return HitCheck(Verdict.STALE, candidate.point.id)
