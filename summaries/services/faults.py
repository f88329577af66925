"""Find the documents whose texts failed, or were written by rules in place of the model."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import Count, Min, Q, QuerySet

from documents.models import Artifact
from indexing.models import IndexBuild
from indexing.text_faults import Fault
from summaries.models import EXTRACTIVE_MODEL_NAME, Annotation, Summary, WrittenText


def find_written_text_faults(artifacts: QuerySet[Artifact]) -> Iterator[tuple[UUID, Fault]]:
    is_failed = Q(state=WrittenText.State.FAILED)
    is_by_rules = Q(state=WrittenText.State.WRITTEN, model_name=EXTRACTIVE_MODEL_NAME)
    for model, what in ((Summary, "summaries"), (Annotation, "annotations of passages")):
        rows = (
            model._default_manager.filter(
                is_failed | is_by_rules,
                build__in=IndexBuild.objects.live(),
                artifact__in=artifacts.order_by().values("pk"),
            )
            .exclude(last_error="")
            .order_by()
        )
        for row in rows.values("artifact", "state").annotate(
            count=Count("pk"), reason=Min("last_error")
        ):
            code = "texts_missing" if row["state"] == "failed" else "texts_by_rules"
            detail = f"{row['count']} {what}: {row['reason']}"
            yield row["artifact"], {"code": code, "detail": detail}
