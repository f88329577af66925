"""Signal receivers that plan the nodes of concepts, and enqueue concept work when documents change.
The flow:

    Concept or type saved or deleted -> its node planned, in the same transaction
                     -> commit -> indexing.tasks.sync_nodes
    Relationship saved or deleted; a concept, its quotes or a type changed
                     -> commit -> tasks.plan_relationships   plans the relationships' nodes
    Artifact saved   -> commit -> tasks.relocate_quotes   relocates quotes or marks them lost
    Source saved     -> commit -> tasks.relocate_quotes
    documents planned          -> tasks.extract_concepts     if the spec asks for it
    each minute (beat)         -> tasks.reconcile_concepts   work that no signal enqueued, and
                               -> tasks.update_emergent_pairs   for concepts synced since: stores
                                  similar pairs for review

Quotes are deleted with their document, concepts with their index. Before a document with groups is
deleted, the concepts it quotes are marked, so that they stay hidden.
"""

import time
from typing import Any

from django.db.models.signals import post_delete, post_save, pre_delete
from django.dispatch import receiver

from concepts import tasks
from concepts.extraction import is_extraction_enabled
from concepts.models import Concept, Entity, Instance, Relationship, RelationshipType
from concepts.services import restrict_concepts_of
from core.enqueueing import enqueue_on_commit, enqueue_once
from documents.models import Artifact, Source
from indexing.models import IndexBuild
from indexing.removal import index_removal
from indexing.signals import plan_standalone_and_enqueue
from indexing.tasks import documents_planned

ENTITIES_REMOVED_AT_ONCE = 100


@receiver([post_save, post_delete], sender=Concept, dispatch_uid="concepts.concept_changed")
@receiver([post_save, post_delete], sender=RelationshipType, dispatch_uid="concepts.type_changed")
def plan_entity(instance: Entity, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        kind = "concept" if isinstance(instance, Concept) else "relationship_type"
        plan_standalone_and_enqueue(kind, instance.index, instance.pk)


@receiver(
    [post_save, post_delete], sender=Relationship, dispatch_uid="concepts.relationship_changed"
)
def enqueue_planning(instance: Relationship, *, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        enqueue_on_commit(tasks.plan_relationships, index=instance.index)


@receiver([post_save, post_delete], sender=Instance, dispatch_uid="concepts.instance_changed")
@receiver(post_save, sender=Concept, dispatch_uid="concepts.concept_renamed")
@receiver(post_save, sender=RelationshipType, dispatch_uid="concepts.type_renamed")
def forget_relationship_texts(
    instance: Instance | Entity, *, raw: bool = False, **kwargs: Any
) -> None:
    """The texts of relationships have the names and quotes of concepts, and names of types."""
    if raw:
        return
    entity = instance.concept if isinstance(instance, Instance) else instance
    if entity.relationships.exists():
        entity.relationships.forget_text()
        enqueue_on_commit(tasks.plan_relationships, index=entity.index)


@receiver(index_removal, dispatch_uid="concepts.index_removal")
def remove_entities(index: str, deadline: float, **kwargs: Any) -> None:
    for model in (Concept, RelationshipType):
        rows = model._default_manager.filter(index=index)
        while ids := list(rows.values_list("pk", flat=True)[:ENTITIES_REMOVED_AT_ONCE]):
            rows.filter(pk__in=ids).delete()
            if time.monotonic() >= deadline:
                return


@receiver(post_save, sender=Artifact, dispatch_uid="concepts.artifact_saved")
@receiver(post_save, sender=Source, dispatch_uid="concepts.source_saved")
def enqueue_relocation(instance: Artifact | Source, *, raw: bool = False, **kwargs: Any) -> None:
    artifact_id = instance.artifact_id if isinstance(instance, Source) else instance.pk
    if not raw and Instance.objects.filter(artifact=artifact_id).exists():
        enqueue_on_commit(tasks.relocate_quotes, artifact_id=str(artifact_id))


@receiver(pre_delete, sender=Artifact, dispatch_uid="concepts.artifact_deleted")
def restrict_concepts(instance: Artifact, **kwargs: Any) -> None:
    if instance.groups:
        restrict_concepts_of(Instance.objects.filter(artifact=instance))


@receiver(documents_planned, dispatch_uid="concepts.documents_planned")
def enqueue_extraction(build: IndexBuild, **kwargs: Any) -> None:
    if is_extraction_enabled(build):
        enqueue_once(tasks.extract_concepts, build_id=build.pk)
