"""Emergent relationships: stores pairs of concepts whose vectors are similar.

The store is searched for a few neighbours of each concept whose vector changed since the last
search, so the cost grows with the number of concepts, not with the number of pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from concepts.exceptions import UnknownEmergentPair
from concepts.models import Concept, EmergentPair, Relationship
from concepts.services import relate_concepts
from indexing.models import IndexBuild, Node, NodeQuerySet
from indexing.stores import Query, get_store
from indexing.stores.base import DenseVector

MAX_CONCEPTS_PER_CALL = 1_024  # large, because each call's query for due concepts reads all of them
CONCEPTS_PER_REQUEST = 128  # concepts per request to the store

Pair = tuple[UUID, UUID]


def nodes_due_for_pairing(build: IndexBuild) -> NodeQuerySet:
    """Nodes of concepts whose emergent pairs were not computed for their current vector."""
    known = Concept.objects.filter(
        pk=OuterRef("point_id"), pairing_input_hash=OuterRef("input_hash")
    )
    nodes = Node.objects.filter(build=build, kind="concept", state=Node.State.SYNCED)
    there = Concept.objects.filter(pk=OuterRef("point_id"))
    return nodes.filter(Exists(there), ~Exists(known))


def update_emergent_pairs(
    build: IndexBuild, should_stop: Callable[[], bool] = lambda: False
) -> int:
    """Recompute the emergent pairs of the next batch of changed concepts in the live build; return
    how many concepts were processed (0 for any other build).

    Raises:
        StoreUnavailable: calling again continues where this call stopped.
    """
    if build.index.live_build_id != build.pk or build.spec.concepts is None:
        return 0
    due = list(
        nodes_due_for_pairing(build)
        .order_by("pk")
        .values_list("point_id", "input_hash")[:MAX_CONCEPTS_PER_CALL]
    )
    count = 0
    for start in range(0, len(due), CONCEPTS_PER_REQUEST):
        if should_stop():
            break
        concept_slice = dict(due[start : start + CONCEPTS_PER_REQUEST])
        _update_pairs_of(build, concept_slice)
        count += len(concept_slice)
    return count


def _update_pairs_of(build: IndexBuild, due: Mapping[UUID, str]) -> None:
    vectors = _read_vectors(build, due)
    near = _find_similar_pairs(build, vectors)
    with transaction.atomic():
        # Lock the concepts and leave out deleted ones. The stored hash makes a concept that changed
        # meanwhile due again.
        locked = Concept.objects.select_for_update(of=("self",)).filter(pk__in=due).order_by("pk")
        ids = set(locked.values_list("pk", flat=True))
        _save_pairs(build, ids, vectors, near)
        surveyed = [Concept(pk=pk, pairing_input_hash=due[pk]) for pk in ids]
        Concept.objects.bulk_update(surveyed, ["pairing_input_hash"])


@transaction.atomic
def accept_pair(pair_id: UUID, type_id: UUID, *, is_reversed: bool = False) -> Relationship:
    """Create a relationship from the first concept of a pair to the second, or reversed. The pair
    is then no longer open.

    Raises:
        UnknownEmergentPair: there is no pair with this id.
        InvalidInput: the index has no such relationship type.
    """
    pair = _lock_pair(pair_id)
    source, target = pair.first, pair.second
    if is_reversed:
        source, target = target, source
    edge, _ = relate_concepts(source.index, source.pk, type_id, target.pk)
    return edge


@transaction.atomic
def dismiss_pair(pair_id: UUID) -> EmergentPair:
    """Dismiss a pair: it is no longer listed as open while its concepts stay similar.

    Raises:
        UnknownEmergentPair: there is no pair with this id.
    """
    pair = _lock_pair(pair_id)
    pair.dismissed_at = pair.dismissed_at or timezone.now()
    pair.save(update_fields=["dismissed_at"])
    return pair


def _lock_pair(pair_id: UUID) -> EmergentPair:
    rows = EmergentPair.objects.select_for_update(of=("self",))
    rows = rows.select_related("first", "second")
    pair = rows.filter(pk=pair_id).first()
    if pair is None:
        raise UnknownEmergentPair(field="id")
    return pair


def _read_vectors(build: IndexBuild, ids: Mapping[UUID, str]) -> dict[UUID, DenseVector]:
    stored = get_store().retrieve(build.collection("concept"), list(ids), with_vectors=True)
    return {pk: point.dense for pk, point in stored.items() if point.dense is not None}


def _find_similar_pairs(
    build: IndexBuild, vectors: Mapping[UUID, DenseVector]
) -> dict[Pair, float]:
    collection = build.collection("concept")
    most = settings.STRATA_EMERGENT_NEIGHBOURS + 1  # each concept finds itself, too
    least = settings.STRATA_EMERGENT_SIMILARITY
    queries = [Query(dense=vector, limit=most, min_score=least) for vector in vectors.values()]
    answers = get_store().search_many([(collection, query) for query in queries])
    return {
        _order_pair(concept_id, point.id): point.score
        for concept_id, points in zip(vectors, answers, strict=True)
        for point in points
        if point.id != concept_id
    }


def _save_pairs(
    build: IndexBuild,
    ids: set[UUID],
    vectors: Mapping[UUID, DenseVector],
    near: Mapping[Pair, float],
) -> None:
    """Store the pairs of these concepts that are still similar; delete their other pairs."""
    held = {(row.first_id, row.second_id): row for row in EmergentPair.objects.involving(ids)}
    ends = {end for pair in held.keys() - near.keys() for end in pair} - vectors.keys()
    known = {**vectors, **_read_vectors(build, dict.fromkeys(ends, ""))}
    similarities = dict(near)
    for pair in held.keys() - near.keys():
        # Other neighbours may have displaced this pair from the results although it is still
        # similar.
        if all(end in known for end in pair):
            similarity = _cosine(known[pair[0]], known[pair[1]])
            if similarity >= settings.STRATA_EMERGENT_SIMILARITY:
                similarities[pair] = similarity
    EmergentPair.objects.filter(
        pk__in=[row.pk for pair, row in held.items() if pair not in similarities]
    ).delete()
    ends = {end for pair in similarities for end in pair}
    there = set(Concept.objects.filter(pk__in=ends).values_list("pk", flat=True))
    rows = [
        EmergentPair(first_id=first, second_id=second, similarity=similarity)
        for (first, second), similarity in sorted(similarities.items())
        if first in there and second in there
    ]
    EmergentPair.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["first", "second"],
        update_fields=["similarity"],
        batch_size=500,
    )


def _order_pair(one: UUID, other: UUID) -> Pair:
    return (one, other) if one < other else (other, one)


def _cosine(one: Sequence[float] | DenseVector, other: Sequence[float] | DenseVector) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
