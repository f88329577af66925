"""Finds the documents whose texts failed, or were written by rules in place of the model.

Retries all work that failed: of reading files, planning documents, asking a language model and
embedding nodes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Min, QuerySet, Value

from documents.models import Artifact
from documents.services import retry_parsing
from indexing.hooks import Fault, retry_registered_work
from indexing.models import IndexBuild, Node
from indexing.services import retry_failed_documents, retry_failed_nodes
from summaries.models import (
    NOT_WRITTEN_BY_MODEL,
    Annotation,
    Segmentation,
    Summary,
    WrittenText,
)
from summaries.services.rows import TEXT_MODELS, make_texts_due

WHAT_IS_WRITTEN: Mapping[type[WrittenText], str] = {
    Summary: "summaries",
    Annotation: "annotations of passages",
    Segmentation: "segmentations of sources",
}


def find_written_text_faults(artifacts: QuerySet[Artifact]) -> Iterator[tuple[UUID, Fault]]:
    first, *others = (
        model._default_manager.filter(
            NOT_WRITTEN_BY_MODEL,
            build__in=IndexBuild.objects.live(),
            artifact__in=artifacts.order_by().values("pk"),
        )
        .order_by()
        .values("artifact", "state")
        .annotate(count=Count("pk"), reason=Min("last_error"), what=Value(what))
        for model, what in WHAT_IS_WRITTEN.items()
    )
    for row in first.union(*others, all=True):
        # A source that a model cannot cut is cut by sentences.
        is_missing = row["state"] == "failed" and row["what"] != WHAT_IS_WRITTEN[Segmentation]
        code = "texts_missing" if is_missing else "texts_by_rules"
        detail = f"{row['count']} {row['what']}: {row['reason']}"
        yield row["artifact"], {"code": code, "detail": detail}


@dataclass(frozen=True, slots=True)
class Retried:
    files: int
    documents: int
    texts: int
    nodes: int


@transaction.atomic
def retry_failed_work(artifacts: QuerySet[Artifact], nodes: QuerySet[Node]) -> Retried:
    """Retry what failed of these artifacts and nodes. The next reconciliation finds the work."""
    retried_nodes = retry_failed_nodes(nodes)
    builds = IndexBuild.objects.not_retired().values("pk")
    texts = sum(
        make_texts_due(
            model._default_manager.filter(
                NOT_WRITTEN_BY_MODEL, artifact__in=artifacts, build__in=builds
            ),
            is_cache_bypassed=model is Segmentation,  # its stored answer would be refused again
        )
        for model in TEXT_MODELS
    )
    texts += retry_registered_work(artifacts)
    documents = retry_failed_documents(artifacts)
    # Last, because the query may ask for failed artifacts.
    return Retried(retry_parsing(artifacts), documents, texts, retried_nodes)
