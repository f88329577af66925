"""What another build of the index has written already, and a new one need not write again."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F, Q

from indexing.models import IndexBuild
from indexing.spec import IndexSpec
from summaries import llm
from summaries.models import Annotation, Summary, Writing
from summaries.writers import EXTRACTIVE

_REUSED = ["state", "written_hash", "model_name", "is_by_hand", "written_at"]
_REUSED_OF_SUMMARIES = [*_REUSED, "text", "text_hash", "citations"]
_REUSED_OF_ANNOTATIONS = [
    *_REUSED, "questions", "summary", "fields", "output_hash", "dropped_count",
]  # fmt: skip


def reuse_page_summaries(build: IndexBuild, rows: Sequence[Summary]) -> None:
    """Fill those of these new rows that another build can fill.

    What was written by hand goes along whatever the recipe; what rules wrote, where the text
    and the recipe are the same. What a language model answered is kept by itself.
    """
    found = Summary.objects.of_pages().filter(page__in=[row.page_id for row in rows])
    by_page = {each.page_id: each for each in _written(build, found, "page_summaries")}
    for row in rows:
        _fill(row, by_page.get(row.page_id), _REUSED_OF_SUMMARIES)


def reuse_artifact_summary(build: IndexBuild, row: Summary) -> bool:
    """Fill this new row if another build can; whether it could."""
    found = Summary.objects.of_artifacts().filter(artifact=row.artifact_id)
    for written in _written(build, found, "artifact_summaries"):
        if _fill(row, written, _REUSED_OF_SUMMARIES):
            return True
    return False


def reuse_annotations(build: IndexBuild, rows: Sequence[Annotation]) -> None:
    """``reuse_page_summaries`` for the questions of chunks that are cut as they were."""
    found = Annotation.objects.filter(chunk_id__in=[row.chunk_id for row in rows])
    by_chunk = {each.chunk_id: each for each in _written(build, found, "questions")}
    for row in rows:
        _fill(row, by_chunk.get(row.chunk_id), _REUSED_OF_ANNOTATIONS)


def _written(build: IndexBuild, found: Any, section: str) -> Any:
    """By hand last, so that it wins where several builds have written."""
    others = IndexBuild.objects.not_retired().filter(index=build.index_id).exclude(pk=build.pk)
    recipe = _recipe(build.spec, section)
    alike = [other.pk for other in others if _recipe(other.spec, section) == recipe]
    by_rules = Q(build__in=alike, model_name=EXTRACTIVE, written_hash=F("input_hash"))
    by_hand = Q(build__in=[other.pk for other in others], is_by_hand=True)
    return found.filter(
        by_hand if llm.is_configured() else by_hand | by_rules,
        state=Writing.State.WRITTEN,
        is_cache_bypassed=False,
    ).order_by("is_by_hand", "build__number")


def _recipe(spec: IndexSpec, section: str) -> Mapping[str, Any]:
    """All that decides what rules write: they summarise by the nearness of sentences."""
    return spec.model_dump(include={section, "metadata" if section == "questions" else "embedding"})


def _fill(row: Any, written: Any | None, fields: Sequence[str]) -> bool:
    if written is None or not (written.is_by_hand or written.written_hash == row.input_hash):
        return False
    for field in fields:
        setattr(row, field, getattr(written, field))
    return True
