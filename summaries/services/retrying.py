"""Retries all work that failed: files that could not be read, texts that could not be written, and
nodes that could not be embedded."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from documents.models import Artifact
from documents.services import retry_parsing
from indexing.models import Node
from indexing.services import retry_failed_nodes
from summaries.services.by_hand import retry_failed_texts
from summaries.services.rows import KINDS_BY_MODEL


@dataclass(frozen=True, slots=True)
class Retried:
    files: int
    texts: int
    nodes: int


@transaction.atomic
def retry_failed_work(artifacts: QuerySet[Artifact], nodes: QuerySet[Node]) -> Retried:
    """Retry what failed of these artifacts and nodes. The next reconciliation finds the work."""
    retried_nodes = retry_failed_nodes(nodes)
    texts = sum(
        retry_failed_texts(model._default_manager.filter(artifact__in=artifacts))
        for model in KINDS_BY_MODEL
    )
    # Last, because the query may ask for failed artifacts.
    return Retried(retry_parsing(artifacts), texts, retried_nodes)
