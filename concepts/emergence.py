"""Emergent relationships: concepts that lie near each other in the vector store, kept as pairs.

Neighbours are asked of the store, a few for each concept, and only for concepts whose vector has
changed since they were last asked for: the cost grows with the concepts, not with their pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from concepts.exceptions import UnknownPair
from concepts.models import Concept, EmergentPair, Relationship
from concepts.services import relate
from indexing.models import IndexBuild, Node, NodeQuerySet
from indexing.stores import Query, get_store
from indexing.stores.base import DenseVector

BATCH = 1_024  # concepts looked up together: finding what is due costs a look at all of them
SLICE = 128  # of them, whose neighbours are asked for together

Pair = tuple[UUID, UUID]


def unsurveyed(build: IndexBuild) -> NodeQuerySet:
    """Synced concepts whose neighbours were not looked for since their vectors were made."""
    known = Concept.objects.filter(pk=OuterRef("point_id"), surveyed_hash=OuterRef("input_hash"))
    nodes = Node.objects.filter(build=build, kind="concept", state=Node.State.SYNCED)
    there = Concept.objects.filter(pk=OuterRef("point_id"))
    return nodes.filter(Exists(there), ~Exists(known))


def survey_concepts(build: IndexBuild, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Look for the neighbours of the next few concepts, and keep the pairs that are near; how
    many concepts were looked at. Only the live build says what is near.

    Raises:
        StoreUnavailable: calling again goes on where this ended.
    """
    if build.index.live_build_id != build.pk or build.spec.concepts is None:
        return 0
    due = list(unsurveyed(build).order_by("pk").values_list("point_id", "input_hash")[:BATCH])
    count = 0
    for start in range(0, len(due), SLICE):
        if should_stop():
            break
        part = dict(due[start : start + SLICE])
        _survey(build, part)
        count += len(part)
    return count


def _survey(build: IndexBuild, due: Mapping[UUID, str]) -> None:
    vectors = _read_vectors(build, due)
    near = _find_near(build, vectors)
    with transaction.atomic():
        # Locked, and looked at again: one that changed or went meanwhile is asked for anew.
        locked = Concept.objects.select_for_update(of=("self",)).filter(pk__in=due).order_by("pk")
        ids = set(locked.values_list("pk", flat=True))
        _keep_pairs(build, ids, vectors, near)
        surveyed = [Concept(pk=pk, surveyed_hash=due[pk]) for pk in ids]
        Concept.objects.bulk_update(surveyed, ["surveyed_hash"])


@transaction.atomic
def accept_pair(pair_id: UUID, type_id: UUID, *, is_reversed: bool = False) -> Relationship:
    """Make the relationship of a pair, from its first concept to its second unless reversed;
    with that it is no longer emergent.

    Raises:
        UnknownPair: there is none of this id.
        InvalidInput: the index has no such relationship type.
    """
    pair = _lock_pair(pair_id)
    source, target = pair.first, pair.second
    if is_reversed:
        source, target = target, source
    edge, _ = relate(source.artifact.index, source.pk, type_id, target.pk)
    return edge


@transaction.atomic
def dismiss_pair(pair_id: UUID) -> EmergentPair:
    """Have a pair no longer shown, for as long as its concepts stay near.

    Raises:
        UnknownPair: there is none of this id.
    """
    pair = _lock_pair(pair_id)
    pair.dismissed_at = pair.dismissed_at or timezone.now()
    pair.save(update_fields=["dismissed_at"])
    return pair


def _lock_pair(pair_id: UUID) -> EmergentPair:
    rows = EmergentPair.objects.select_for_update(of=("self",))
    rows = rows.select_related("first__artifact", "second__artifact")
    pair = rows.filter(pk=pair_id).first()
    if pair is None:
        raise UnknownPair(field="id")
    return pair


def _read_vectors(build: IndexBuild, ids: Mapping[UUID, str]) -> dict[UUID, DenseVector]:
    stored = get_store().retrieve(build.collection("concept"), list(ids), with_vectors=True)
    return {pk: point.dense for pk, point in stored.items() if point.dense is not None}


def _find_near(build: IndexBuild, vectors: Mapping[UUID, DenseVector]) -> dict[Pair, float]:
    collection = build.collection("concept")
    most = settings.STRATA_EMERGENT_NEIGHBOURS + 1  # each finds itself
    least = settings.STRATA_EMERGENT_SIMILARITY
    queries = [Query(dense=vector, limit=most, min_score=least) for vector in vectors.values()]
    answers = get_store().search_many([(collection, query) for query in queries])
    return {
        _in_order(concept_id, point.id): point.score
        for concept_id, points in zip(vectors, answers, strict=True)
        for point in points
        if point.id != concept_id
    }


def _keep_pairs(
    build: IndexBuild,
    ids: set[UUID],
    vectors: Mapping[UUID, DenseVector],
    near: Mapping[Pair, float],
) -> None:
    """Pairs of these concepts that are near any more, in either's neighbourhood, and no others."""
    held = {(row.first_id, row.second_id): row for row in EmergentPair.objects.touching(ids)}
    ends = {end for pair in held.keys() - near.keys() for end in pair} - vectors.keys()
    known = {**vectors, **_read_vectors(build, dict.fromkeys(ends, ""))}
    similarities = dict(near)
    for pair in held.keys() - near.keys():
        # Crowded out of the one's neighbourhood, it may still be in the other's.
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


def _in_order(one: UUID, other: UUID) -> Pair:
    return (one, other) if one < other else (other, one)


def _cosine(one: Sequence[float] | DenseVector, other: Sequence[float] | DenseVector) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / norms if norms else 0.0
