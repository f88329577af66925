"""Finds emergent pairs, which are pairs of concepts with similar vectors, and stores them.

Each concept whose vector changed since the last search is searched for a few neighbours in the
vector store, so the cost grows with the number of concepts, not with the number of pairs.
"""

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from access.grants import EVERYTHING, Grant
from concepts.models import Concept, EmergentPair, Relationship
from concepts.services import relate_concepts
from concepts.spec import ConceptSpec
from indexing.embedding.vectors import cosine
from indexing.models import IndexBuild, Node, NodeQuerySet
from indexing.stores import Query, get_store
from indexing.stores.base import DenseVector

MAX_CONCEPTS_PER_CALL = 1_024  # large, because each call looks through all concepts for due ones
CONCEPTS_PER_REQUEST = 128  # concepts per request to the store

Pair = tuple[UUID, UUID]


def nodes_due_for_pairing(build: IndexBuild) -> NodeQuerySet:
    """Nodes of concepts whose emergent pairs were not computed for their current vector."""
    up_to_date = Concept.objects.filter(
        pk=OuterRef("point_id"), pairing_input_hash=OuterRef("input_hash")
    )
    nodes = Node.objects.filter(build=build, kind="concept", state=Node.State.SYNCED)
    existing = Concept.objects.filter(pk=OuterRef("point_id"))
    return nodes.filter(Exists(existing), ~Exists(up_to_date))


def update_emergent_pairs(
    build: IndexBuild, should_stop: Callable[[], bool] = lambda: False
) -> int:
    """Recompute the emergent pairs of the next batch of changed concepts in the live build; return
    how many concepts were processed (0 for any other build).

    Raises:
        StoreUnavailable: calling again continues where this call stopped.
    """
    if build.index.live_build_id != build.pk or ConceptSpec.of(build.spec) is None:
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
        batch = dict(due[start : start + CONCEPTS_PER_REQUEST])
        _update_pairs_of(build, batch)
        count += len(batch)
    return count


def _update_pairs_of(build: IndexBuild, due: Mapping[UUID, str]) -> None:
    """``due``: concept id -> hash of its vector's input."""
    vectors = _read_vectors(build, due)
    found_pairs = _find_similar_pairs(build, vectors)
    with transaction.atomic():
        # Lock the concepts and leave out deleted ones. The stored hash makes a concept that changed
        # meanwhile due again.
        locked = Concept.objects.select_for_update(of=("self",)).filter(pk__in=due).order_by("pk")
        ids = set(locked.values_list("pk", flat=True))
        _save_pairs(build, ids, vectors, found_pairs)
        concepts = [Concept(pk=pk, pairing_input_hash=due[pk]) for pk in ids]
        Concept.objects.bulk_update(concepts, ["pairing_input_hash"])


@transaction.atomic
def accept_pair(
    pair_id: UUID, type_id: UUID, *, is_reversed: bool = False, grant: Grant = EVERYTHING
) -> Relationship:
    """Create a relationship from the first concept of a pair to the second, or reversed. The pair
    is then no longer open.

    Raises:
        UnknownEmergentPair: the grant includes no pair with this id.
        InvalidInput: the index has no such relationship type.
    """
    pair = _lock_pair(pair_id, grant)
    source, target = pair.first, pair.second
    if is_reversed:
        source, target = target, source
    edge, _ = relate_concepts(source.index, source.pk, type_id, target.pk, grant)
    return edge


@transaction.atomic
def dismiss_pair(pair_id: UUID, grant: Grant = EVERYTHING) -> EmergentPair:
    """Dismiss a pair, so that it is not listed as open for as long as its concepts stay similar.
    Raises ``UnknownEmergentPair``: the grant includes no pair with this id."""
    pair = _lock_pair(pair_id, grant)
    pair.dismissed_at = pair.dismissed_at or timezone.now()
    pair.save(update_fields=["dismissed_at"])
    return pair


def _lock_pair(pair_id: UUID, grant: Grant) -> EmergentPair:
    rows = EmergentPair.objects.select_for_update(of=("self",)).select_related("first", "second")
    return rows.require(pair_id, grant)


def _read_vectors(build: IndexBuild, ids: Iterable[UUID]) -> dict[UUID, DenseVector]:
    stored = get_store().retrieve(build.collection("concept"), list(ids), with_vectors=True)
    return {pk: point.dense for pk, point in stored.items() if point.dense is not None}


def _find_similar_pairs(
    build: IndexBuild, vectors: Mapping[UUID, DenseVector]
) -> dict[Pair, float]:
    limit = settings.STRATA_EMERGENT_NEIGHBOURS + 1  # each concept finds itself, too
    min_similarity = settings.STRATA_EMERGENT_SIMILARITY
    collection = build.collection("concept")
    queries = [
        (collection, Query(dense=vector, limit=limit, min_score=min_similarity))
        for vector in vectors.values()
    ]
    return {
        (min(concept_id, point.id), max(concept_id, point.id)): point.score
        for concept_id, points in zip(vectors, get_store().search_many(queries), strict=True)
        for point in points
        if point.id != concept_id
    }


def _save_pairs(
    build: IndexBuild,
    ids: set[UUID],
    vectors: Mapping[UUID, DenseVector],
    found_pairs: Mapping[Pair, float],
) -> None:
    """Store the pairs of these concepts that are still similar; delete their other pairs."""
    stored_pairs = {
        (row.first_id, row.second_id): row for row in EmergentPair.objects.involving(ids)
    }
    # A pair may still be similar although nearer neighbours displaced it from the results.
    displaced = stored_pairs.keys() - found_pairs.keys()
    others = {end for pair in displaced for end in pair} - vectors.keys()
    vectors_by_id = {**vectors, **_read_vectors(build, others)}
    similarities = dict(found_pairs)
    for pair in displaced:
        if all(end in vectors_by_id for end in pair):
            similarity = cosine(vectors_by_id[pair[0]], vectors_by_id[pair[1]])
            if similarity >= settings.STRATA_EMERGENT_SIMILARITY:
                similarities[pair] = similarity
    EmergentPair.objects.filter(
        pk__in=[row.pk for pair, row in stored_pairs.items() if pair not in similarities]
    ).delete()
    ends = {end for pair in similarities for end in pair}
    existing_ids = set(Concept.objects.filter(pk__in=ends).values_list("pk", flat=True))
    rows = [
        EmergentPair(first_id=first, second_id=second, similarity=similarity)
        for (first, second), similarity in sorted(similarities.items())
        if first in existing_ids and second in existing_ids
    ]
    EmergentPair.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["first", "second"],
        update_fields=["similarity"],
        batch_size=500,
    )
