from celery import shared_task

from copies.sketching import DOCUMENTS_PER_RUN, sketch_due_documents


@shared_task
def sketch_documents() -> None:
    """Sketch documents that are new or have changed; go on at once while there are more."""
    if sketch_due_documents() == DOCUMENTS_PER_RUN:
        sketch_documents.delay()
