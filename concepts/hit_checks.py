"""Checks hits of concepts, relationship types and relationships against their rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from concepts.concept_nodes import END_FIELDS
from concepts.models import Concept, Entity, Relationship, RelationshipType
from indexing.models import Node
from retrieval.search.hit_checks import (
    HIDDEN,
    HitCheck,
    Verdict,
    collect_ids,
    text_matches_hash,
)
from retrieval.search.targets import Candidate, PointKey


def _check_rows(
    group: Sequence[Candidate], rows: Any, is_current: Callable[[dict[str, Any], Any], bool]
) -> dict[PointKey, HitCheck]:
    """Check hits against their rows, because no document holds their text. ``is_current`` compares
    a payload and a row."""
    builds, ids = collect_ids(group)
    nodes = Node.objects.filter(build__in=builds, point_id__in=ids)
    existing_keys = {
        (build_id, point.int) for build_id, point in nodes.values_list("build_id", "point_id")
    }
    found_rows = rows.filter(pk__in=ids)
    by_id = {row.pk: row for row in found_rows}
    grant, visible_ids = group[0].target.grant, set(by_id)
    if not grant.sees_all_documents:
        visible_ids = set(found_rows.visible_to(grant).values_list("pk", flat=True))

    def check(pk: Any, payload: dict[str, Any]) -> HitCheck:
        if pk not in visible_ids:
            return HIDDEN
        if not text_matches_hash(payload):
            return HitCheck(None)
        if is_current(payload, by_id[pk]):
            return HitCheck(Verdict.EXACT)
        return HitCheck(Verdict.STALE, pk)

    return {
        found.key: check(found.point.id, found.point.payload)
        for found in group
        if found.key in existing_keys and found.point.id in by_id
    }


def _is_current_entity(payload: dict[str, Any], entity: Entity) -> bool:
    return bool(payload["text"] == entity.text)


def _is_current_relationship(payload: dict[str, Any], edge: Relationship) -> bool:
    """Compare the names, and the hash of its text, which is emptied as soon as a quote changes."""
    is_named = all(payload.get(name) == str(getattr(edge, name)) for name in END_FIELDS)
    return is_named and payload["text_hash"] == edge.text_hash


check_concepts = partial(_check_rows, rows=Concept.objects, is_current=_is_current_entity)
check_relationship_types = partial(
    _check_rows, rows=RelationshipType.objects, is_current=_is_current_entity
)
check_relationships = partial(
    _check_rows,
    rows=Relationship.objects.with_concepts_and_type(),
    is_current=_is_current_relationship,
)
