"""Copy texts that another build of the index already has into a new build."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from django.db.models import F, Q

from documents.models import TEXTS_OF_PAGE
from indexing.models import IndexBuild
from indexing.spec import IndexSpec
from language_models import llm
from summaries.models import EXTRACTIVE_MODEL_NAME, Annotation, Summary, WrittenText

_REUSED_FIELDS = ["state", "written_input_hash", "model_name", "is_by_hand", "written_at"]
REUSED_SUMMARY_FIELDS = [*_REUSED_FIELDS, "text", "text_hash", "citations"]
_REUSED_ANNOTATION_FIELDS = [
    *_REUSED_FIELDS, "questions", "summary", "fields", "output_hash", "dropped_value_count",
]  # fmt: skip


def reuse_page_summaries(build: IndexBuild, rows: Sequence[Summary]) -> None:
    """Copy the texts of another build's page summaries into these new rows of one document, where
    possible.

    Texts by hand are copied whatever the recipe; texts that rules wrote, only if input and
    recipe are equal. Language model completions are reused through ``StoredCompletion`` instead.
    """
    found = Summary.objects.of_pages().filter(
        artifact__in={row.artifact_id for row in rows},
        page__index__in=[row.page.index for row in rows if row.page is not None],
    )
    found = found.select_related("page").defer(*TEXTS_OF_PAGE)
    _reuse(build, rows, found, "page.index", "page_summaries", REUSED_SUMMARY_FIELDS)


def reuse_artifact_summary(build: IndexBuild, row: Summary) -> bool:
    """Copy another build's artifact summary into this new row; return whether one was found."""
    found = Summary.objects.of_artifacts().filter(artifact=row.artifact_id)
    _reuse(build, [row], found, "artifact_id", "artifact_summaries", REUSED_SUMMARY_FIELDS)
    return row.state == WrittenText.State.WRITTEN


def reuse_annotations(build: IndexBuild, rows: Sequence[Annotation]) -> None:
    """Like ``reuse_page_summaries``, for the annotations of chunks with the same chunk id."""
    found = Annotation.objects.filter(chunk_id__in=[row.chunk_id for row in rows])
    _reuse(build, rows, found, "chunk_id", "questions", _REUSED_ANNOTATION_FIELDS)


def _reuse(
    build: IndexBuild,
    rows: Sequence[WrittenText],
    found: Any,
    key: str,
    section: str,
    fields: Sequence[str],
) -> None:
    get_key = attrgetter(key)
    row_by_key = {get_key(row): row for row in rows}
    for written in _find_reusable_rows(build, found, section):
        row = row_by_key[get_key(written)]
        if written.is_by_hand or written.written_input_hash == row.input_hash:
            for field in fields:
                setattr(row, field, getattr(written, field))


def _find_reusable_rows(build: IndexBuild, candidates: Any, section: str) -> Any:
    """Rows to copy from. Rows by hand come last, so that they win if several builds have one."""
    other_builds = (
        IndexBuild.objects.not_retired().filter(index=build.index_id).exclude(pk=build.pk)
    )
    recipe = _extractive_recipe(build.spec, section)
    same_recipe_build_ids = [
        other.pk
        for other in other_builds.readable()
        if _extractive_recipe(other.spec, section) == recipe
    ]
    by_rules = Q(
        build__in=same_recipe_build_ids,
        model_name=EXTRACTIVE_MODEL_NAME,
        written_input_hash=F("input_hash"),
    )
    by_hand = Q(build__in=[other.pk for other in other_builds], is_by_hand=True)
    return candidates.filter(
        by_hand if llm.is_configured() else by_hand | by_rules,
        state=WrittenText.State.WRITTEN,
        is_cache_bypassed=False,
    ).order_by("is_by_hand", "build__number")


def _extractive_recipe(spec: IndexSpec, section: str) -> Mapping[str, Any]:
    """The spec sections that decide what the rules write. Summaries depend on the embedding."""
    return spec.model_dump(include={section, "metadata" if section == "questions" else "embedding"})
