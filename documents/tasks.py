"""Celery tasks of documents: each takes ids, calls one service and returns nothing."""

import logging
from uuid import UUID

from celery import shared_task

from core.exceptions import StrataError
from core.workers import ParallelWorker
from documents import reading
from documents.exceptions import ReaderUnavailable, ScannerUnavailable
from documents.models import Artifact
from documents.originals import delete_abandoned_files, delete_removed_originals
from documents.parsing import count_readers, docling_serve
from documents.virus_scan import is_scanner_configured, ping_scanner

logger = logging.getLogger(__name__)

RECONCILE_LIMIT = 1_000  # artifacts enqueued by one reconciliation


def _parse(artifact_id: str) -> None:
    try:
        reading.parse_artifact(UUID(artifact_id))
    except (StrataError, OSError) as error:  # a service or a disk is away
        logger.warning("The file of %s is not read yet: %s", artifact_id, error)


# More threads would only wait for the children that read, and other work for a thread.
parsing_worker = ParallelWorker(_parse, count_readers)


@shared_task
def parse_artifact(*, artifact_id: str, index: str = "") -> None:
    """Parse one artifact's file, unless that is done or under way. ``index``: indexes take
    turns."""
    parsing_worker.run(artifact_id, index)


@shared_task
def reconcile_documents() -> None:
    """Enqueue parsing of artifacts that no message announced or that a dead worker left."""
    delete_abandoned_files()
    delete_removed_originals()
    if is_scanner_configured():
        try:
            ping_scanner()
        except ScannerUnavailable as error:  # each file would wait as long for it
            logger.warning("Files are not read yet: %s", error)
            return
    waiting = Artifact.objects.unparsed()
    if endings := docling_serve.list_endings():
        try:
            docling_serve.ping()
        except ReaderUnavailable as error:
            logger.warning("Files for docling-serve are not read yet: %s", error)
            for ending in endings:
                waiting = waiting.exclude(file_name__iendswith=f".{ending}")
    for artifact_id, index in waiting.values_list("pk", "index")[:RECONCILE_LIMIT]:
        parse_artifact.delay(artifact_id=str(artifact_id), index=index)
