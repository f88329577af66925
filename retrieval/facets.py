"""Counts the values of the declared metadata fields, among the points that a grant includes."""

from collections.abc import Mapping
from typing import Any

import strata_types
from access.grants import Grant
from documents.models import Artifact
from indexing.models import IndexedDocument
from indexing.spec import FieldSpec
from indexing.stores import Filter, Match, Not
from retrieval.filters import all_of
from retrieval.search.targets import Target, find_builds, make_targets
from retrieval.visible_points import VisiblePoints

MAX_FACET_VALUES = 100
# The store counts no values of the other types. It returns all values as strings.
READERS: Mapping[str, Any] = {"keyword": str, "integer": int, "bool": "True".__eq__}


def count_field_values(
    index: str, filter: Mapping[str, Any] | None, limit: int, grant: Grant
) -> strata_types.FacetAnswer:
    """The most frequent values of each field. A field's own condition in ``filter`` does not apply
    to its values, so that others can be chosen beside those already chosen. Raises as a search."""
    build = find_builds([index], grant)[index]
    if build is None:
        return {"index": index, "build": None, "kind": None, "facets": []}
    spec = build.spec
    [target] = make_targets([build], spec.kinds[:1], filter)  # refuses a wrong filter
    points = VisiblePoints(grant)
    hidden = _find_documents_just_hidden(points, target)
    not_hidden = Not(Match("artifact_id", sorted(hidden))) if hidden else None
    facets: list[strata_types.Facet] = []
    for name, field in spec.metadata.items():
        if field.type not in READERS:
            continue
        others = {key: value for key, value in (filter or {}).items() if key != name}
        [target] = make_targets([build], spec.kinds[:1], others)
        condition = all_of(target.filter, not_hidden)
        counts = points.facet(target.collection, name, limit=limit, filter=condition)
        if field.values:
            counts = _join_forms(counts, name, field, points, target.collection, condition)
        read = READERS[field.type]
        values: list[strata_types.FacetValue] = [
            {"value": read(value), "count": count} for value, count in counts.items()
        ]
        facets.append({"field": name, "values": values})
    return {"index": index, "build": build.number, "kind": spec.kinds[0], "facets": facets}


def _join_forms(
    counts: Mapping[str, int],
    name: str,
    field: FieldSpec,
    points: VisiblePoints,
    collection: str,
    condition: Filter | None,
) -> dict[str, int]:
    """Count a value once with the synonyms that documents still hold."""
    forms: dict[str, list[str]] = {}
    for form in counts:
        forms.setdefault(field.normalise(form), []).append(form)
    joined = {
        value: counts[held[0]]
        if len(held) == 1
        else points.count(collection, all_of(condition, Match(name, held)))
        for value, held in forms.items()
    }
    return dict(sorted(joined.items(), key=lambda each: -each[1]))


def _find_documents_just_hidden(points: VisiblePoints, target: Target) -> set[str]:
    """Ids of documents that the grant no longer includes, but whose points still have the groups
    from before. A search leaves them out because it compares its hits with their rows; a count has
    no rows."""
    if target.grant.groups is None:
        return set()
    most = IndexedDocument.objects.filter(build=target.build_id).count()
    counted = points.facet(target.collection, "artifact_id", limit=most)
    visible = Artifact.objects.visible_to(target.grant).filter(index=target.index)
    return counted.keys() - {str(id) for id in visible.values_list("pk", flat=True)}
