"""Counts the values of the declared metadata fields, among the points that a grant includes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from itertools import chain
from typing import Any

import strata_types
from access.grants import Grant
from documents.models import Artifact
from indexing.models import IndexedDocument
from indexing.spec import FieldSpec
from indexing.stores import Filter, Match, Not
from retrieval.filters import all_of, parse_filter
from retrieval.search.targets import Target, find_builds, make_targets
from retrieval.visible_points import VisiblePoints

MAX_FACET_VALUES = 100
# The store counts no values of the other types. It returns all values as strings.
READERS: Mapping[str, Any] = {"keyword": str, "integer": int, "bool": "True".__eq__}
MAX_IDS = 1_000  # of documents in one query


def count_field_values(
    index: str, filter: Mapping[str, Any] | None, limit: int, grant: Grant
) -> strata_types.FacetAnswer:
    """The most frequent values of each field, and how many documents have none. A field's own
    condition in ``filter`` does not apply to its values, so that others can be chosen beside those
    already chosen. Raises as a search."""
    build = find_builds([index], grant)[index]
    if build is None:
        return {"index": index, "build": None, "kind": None, "facets": []}
    spec = build.spec
    [target] = make_targets([build], spec.kinds[:1], filter)  # refuses a wrong filter
    points = VisiblePoints(grant)
    hidden = _find_documents_just_hidden(points, target)
    not_hidden = Not(Match("artifact_id", sorted(hidden))) if hidden else None
    most = IndexedDocument.objects.filter(build=build.id).count()
    rows: dict[str, list[Any]] = {}  # field whose condition is left out, or "" -> metadata
    facets: list[strata_types.Facet] = []
    for name, field in spec.metadata.items():
        others = {key: value for key, value in (filter or {}).items() if key != name}
        [target] = make_targets([build], spec.kinds[:1], others)
        collection, condition = target.collection, all_of(target.filter, not_hidden)
        read, counts = READERS.get(field.type, str), {}
        if field.type in READERS:
            counts = points.facet(collection, name, limit=limit, filter=condition)
        if field.values:
            counts = _join_forms(counts, name, field, points, collection, condition)
        find = partial(points.facet, collection, "artifact_id", limit=most)
        if spec.kinds[0] == "question":  # a passage may have values that its document has not
            forms = {
                value: field.list_stored_forms(value) if field.holds_texts else [read(value)]
                for value in counts
            }
            documents = {
                value: len(find(filter=all_of(condition, Match(name, held))))
                for value, held in forms.items()
            }
            missing = len(find(filter=all_of(condition, parse_filter({name: None}, spec))))
        else:
            key = name if name in (filter or {}) else ""
            if key not in rows:
                rows[key] = list(_read_metadata(index, find(filter=condition)))
            held = [_list_values(field, each.get(name)) for each in rows[key]]
            documents = Counter(chain.from_iterable(held))
            missing = held.count(set())
        values: list[strata_types.FacetValue] = [
            {"value": read(value), "count": count, "documents": documents.get(value, 0)}
            for value, count in counts.items()
            if value  # an empty text is none
        ]
        facets.append({"field": name, "values": values, "missing": missing})
    return {"index": index, "build": build.number, "kind": spec.kinds[0], "facets": facets}


def _read_metadata(index: str, ids: Collection[str]) -> Iterable[Mapping[str, Any]]:
    rows = Artifact.objects.filter(index=index).order_by()
    if len(ids) <= MAX_IDS:
        rows = rows.filter(pk__in=list(ids))
    pairs = rows.values_list("pk", "metadata").iterator()
    return (metadata for pk, metadata in pairs if str(pk) in ids)


def _list_values(field: FieldSpec, content: Any) -> set[str]:
    """The values that a document has, as the store returns them."""
    values = content if isinstance(content, list) else [content]
    return {str(field.normalise(each)) for each in values if each not in (None, "")}


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
