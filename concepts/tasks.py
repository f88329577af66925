"""Celery entry points for concepts: ids in, service calls, nothing out.

Every task may run twice, late, or after the object it names was deleted.
"""

from functools import partial
from uuid import UUID

from celery import shared_task

from concepts import emergent_pairs, extraction, quotes
from concepts.spec import ConceptSpec
from core.enqueueing import enqueue_once
from indexing.models import IndexBuild
from indexing.services import plan_unannounced_standalone_nodes, set_build_problem
from indexing.tasks import sync_nodes
from indexing.workers import BuildWorker

# No error callback: it fails only if the store does, and syncing already records that on the build.
pairing_worker = BuildWorker(emergent_pairs.update_emergent_pairs, lambda build, error: None)
extraction_worker = BuildWorker(
    extraction.extract_concepts, partial(set_build_problem, field="writing_problem")
)


@shared_task
def relocate_quotes(*, artifact_id: str) -> None:
    """Search a changed document for its quotes again."""
    quotes.relocate_quotes(UUID(artifact_id))


@shared_task
def update_emergent_pairs(*, build_id: int) -> None:
    """Update the emergent pairs of a build's changed concepts; enqueue itself if work is left."""
    for unfinished_build_id in pairing_worker.run(build_id):
        update_emergent_pairs.delay(build_id=unfinished_build_id)


@shared_task
def extract_concepts(*, build_id: int) -> None:
    """Extract concepts from a build's new and changed sources; enqueue itself if work is left."""
    for unfinished_build_id in extraction_worker.run(build_id):
        extract_concepts.delay(build_id=unfinished_build_id)


@shared_task
def plan_relationships(*, index: str) -> None:
    """Plan the nodes of an index's relationships that were written, changed or deleted."""
    for build in IndexBuild.objects.not_retired().filter(index=index).readable():
        if ConceptSpec.of(build.spec) and plan_unannounced_standalone_nodes(build):
            enqueue_once(sync_nodes, build_id=build.pk)


@shared_task
def reconcile_concepts() -> None:
    """Enqueue work that no signal enqueued (bulk writes, lost messages, dead workers), and the
    update of emergent pairs for newly embedded concepts."""
    for build in IndexBuild.objects.live().filter(paused_at=None).readable():
        if ConceptSpec.of(build.spec) and emergent_pairs.nodes_due_for_pairing(build).exists():
            update_emergent_pairs.delay(build_id=build.pk)
        if extraction.has_pending_extractions(build):
            extract_concepts.delay(build_id=build.pk)
    for artifact_id in list(quotes.find_artifacts_with_stale_quotes()):
        quotes.relocate_quotes(artifact_id)
