"""Find the documents whose texts failed, or were written by rules in place of the model."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import Count, Min, QuerySet

from documents.models import Artifact
from indexing.models import IndexBuild
from indexing.text_faults import Fault
from summaries.models import NOT_WRITTEN_BY_MODEL, Annotation, Summary


def find_written_text_faults(artifacts: QuerySet[Artifact]) -> Iterator[tuple[UUID, Fault]]:
    for model, what in ((Summary, "summaries"), (Annotation, "annotations of passages")):
        rows = model._default_manager.filter(
            NOT_WRITTEN_BY_MODEL,
            build__in=IndexBuild.objects.live(),
            artifact__in=artifacts.order_by().values("pk"),
        ).order_by()
        for row in rows.values("artifact", "state").annotate(
            count=Count("pk"), reason=Min("last_error")
        ):
            code = "texts_missing" if row["state"] == "failed" else "texts_by_rules"
            detail = f"{row['count']} {what}: {row['reason']}"
            yield row["artifact"], {"code": code, "detail": detail}
