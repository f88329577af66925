"""Celery entry points for concepts: ids in, service calls, nothing out.

Every task may run twice, late, or after what it names is gone.
"""

from functools import partial
from uuid import UUID

from celery import shared_task

from concepts import emergence, evidence, extraction
from indexing.models import IndexBuild
from indexing.services import note_problem
from indexing.workers import BuildWorker

# What keeps it from the store keeps all else from it, and is noted there.
surveying = BuildWorker(emergence.survey_concepts, lambda build, error: None)
extracting = BuildWorker(
    extraction.extract_concepts, partial(note_problem, field="writing_problem")
)


@shared_task
def relocate_instances(*, artifact_id: str) -> None:
    """Look anew for what is quoted from a document that changed."""
    evidence.relocate_instances(UUID(artifact_id))


@shared_task
def survey_concepts(*, build_id: int) -> None:
    """Look for the neighbours of the concepts of a build that changed, and come again where that
    takes longer than a round."""
    for left_id in surveying.run(build_id):
        survey_concepts.delay(build_id=left_id)


@shared_task
def extract_concepts(*, build_id: int) -> None:
    """Find concepts in the sources of a build that no one has looked through, and come again
    where that takes longer than a round."""
    for left_id in extracting.run(build_id):
        extract_concepts.delay(build_id=left_id)


@shared_task
def reconcile_concepts() -> None:
    """Do what no signal woke: bulk writes, lost messages, dead workers; and survey concepts
    whose vectors were made since."""
    for build in IndexBuild.objects.live().filter(paused_at=None):
        if build.spec.concepts and emergence.unsurveyed(build).exists():
            survey_concepts.delay(build_id=build.pk)
        if extraction.has_work(build):
            extract_concepts.delay(build_id=build.pk)
    for artifact_id in list(evidence.displaced_artifacts()):
        evidence.relocate_instances(artifact_id)
