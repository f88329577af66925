"""All background workers of the process, listed so that they can be stopped."""

from concepts.tasks import extraction_worker, pairing_worker
from documents.tasks import parsing_worker
from evaluation.tasks import evaluation_worker, promotion_worker
from indexing.tasks import (
    audit_worker,
    plan_worker,
    reading_worker,
    sync_worker,
)
from summaries.tasks import writing_worker
from webhooks.tasks import delivery_worker

BACKGROUND_WORKERS = (
    parsing_worker,
    reading_worker,
    plan_worker,
    sync_worker,
    audit_worker,
    writing_worker,
    delivery_worker,
    promotion_worker,
    evaluation_worker,
    pairing_worker,
    extraction_worker,
)
