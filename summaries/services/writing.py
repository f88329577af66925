"""Claim due rows, have them written by a language model or rules, and save the results."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from core.exceptions import StrataError
from core.leases import FRESH, Claim, LeasedQuerySet
from core.text import hash_text
from indexing.lifecycle import pause_build
from indexing.models import IndexBuild
from indexing.services import make_documents_due
from indexing.throughput import (
    LANGUAGE_MODEL_CALLS,
    add_throughput_sample,
    get_rate_per_second,
)
from language_models import llm
from language_models.exceptions import (
    LanguageModelCallsSpent,
    LanguageModelCost,
    LanguageModelSilent,
)
from summaries import segmenting
from summaries.models import (
    EXTRACTIVE_MODEL_NAME,
    Annotation,
    BuildLanguageModelCost,
    Segmentation,
    StoredCompletion,
    Summary,
    WrittenText,
)
from summaries.services.rows import (
    TEXT_MODELS,
    annotation_field_values,
    get_page_summary_texts,
    hash_inputs,
    make_artifact_summary_due,
)
from summaries.writers import (
    BY_HAND_MODEL_NAME,
    AnnotationInput,
    Draft,
    DraftOutcome,
    Outcome,
    SegmentationDraft,
    SummaryDraft,
    SummaryInput,
    get_claim_batch_size,
    get_writer,
)

Value = TypeVar("Value")


@dataclass(slots=True)
class WriteBatchResult:
    """The result of one batch. ``artifact_ids``: of artifacts whose nodes must be planned again."""

    row_count: int = 0
    artifact_ids: set[UUID] = field(default_factory=set)


def write_due_texts(
    build: IndexBuild, result: WriteBatchResult, *, should_stop: Callable[[], bool] = lambda: False
) -> None:
    """Claim one batch of due rows, have it written, and save each result as it arrives.

    ``result`` counts what was saved, even if this raises. A build that has reached its
    ``max_calls`` is paused; only corrections of invalid or
    truncated responses can exceed that number.

    Raises:
        LanguageModelUnavailable, LanguageModelMisconfigured, EmbeddingUnavailable, …: unwritten
            rows stay due and their attempt is not counted; calling again later is safe.
        LanguageModelCallsSpent: the build is live, so it cannot be paused.
    """
    if not has_claimable_texts(build):
        return
    limit = limit_to_calls_left(build, get_claim_batch_size())
    if not limit:
        return
    for model in TEXT_MODELS:
        claimable_texts(build, model).give_up_exhausted()
        count = limit
        if model is Segmentation:
            count = max(1, limit // segmenting.count_calls_of_source())
        claim = claimable_texts(build, model).order_by("pk").claim_batch(count)
        if claim is not None:
            _write_claim(build, model, claim, result, should_stop)
            return


def limit_to_calls_left(build: IndexBuild, count: int) -> int:
    """Return ``count``, limited to the language model calls that the build has left. Pause the
    build if it has none.

    Raises:
        LanguageModelCallsSpent: the build is live, so it cannot be paused.
    """
    if build.max_calls is None:
        return count
    costs = BuildLanguageModelCost.objects.filter(build=build)
    spent = costs.values_list("call_count", flat=True).first() or 0
    left = build.max_calls - spent
    if left > 0:
        return min(count, left)
    reason = (
        f"The build {build} has used its {build.max_calls} allowed calls of the language model."
    )
    fix = f"Apply {build.index_id} again with a larger --max-calls, or without it."
    if build.state == IndexBuild.State.LIVE:
        raise LanguageModelCallsSpent(reason, fix=fix)
    pause_build(build, f"{reason} {fix}")
    return 0


def claimable_texts(build: IndexBuild, model: type[WrittenText]) -> LeasedQuerySet[Any]:
    """Due rows that no worker holds and whose own inputs are written."""
    texts: Any = model._default_manager.all()
    rows: LeasedQuerySet[Any] = texts.free().filter(build=build, state=WrittenText.State.DUE)
    if model is Summary:
        pages = Summary.objects.of_pages().filter(
            build=build, artifact=OuterRef("artifact"), state=WrittenText.State.DUE
        )
        rows = rows.filter(Q(page__isnull=False) | ~Exists(pages))
    return rows


def has_claimable_texts(build: IndexBuild) -> bool:
    return any(claimable_texts(build, model).exists() for model in TEXT_MODELS)


def count_due_texts(build: IndexBuild) -> int:
    """The number of texts that are still due, including those that wait for others."""
    due = [model._default_manager.filter(build=build, state="due") for model in TEXT_MODELS]
    return sum(rows.count() for rows in due)


def describe_due_texts(index: str) -> str:
    """Say how many texts of an index wait for the language model, and how long they will take at
    the measured speed; empty if none waits."""
    if not llm.is_configured():
        return ""
    builds = IndexBuild.objects.not_paused().filter(index=index)
    if not (count := sum(map(count_due_texts, builds))):
        return ""
    rate = get_rate_per_second(LANGUAGE_MODEL_CALLS)
    minutes = f", about {-(-count // (60 * rate)):.0f} minutes" if rate else ""
    noun = "text waits" if count == 1 else "texts wait"
    return f"{count} {noun} for the language model{minutes}."


def _write_claim(
    build: IndexBuild,
    model: type[WrittenText],
    claim: Claim[Any],
    result: WriteBatchResult,
    should_stop: Callable[[], bool],
) -> None:
    read_from = "source" if model is Segmentation else "page"
    rows = {row.pk: row for row in claim.rows.select_related("artifact", read_from)}
    result.row_count += len(rows)
    save_outcomes(
        build,
        claim,
        _write_drafts(build, model, rows),
        lambda outcome: _save_outcome(build, rows[outcome.key], outcome, claim, result),
        should_stop,
    )


def save_outcomes(
    build: IndexBuild,
    claim: Claim[Any],
    outcomes: Iterable[Outcome[Any, Value]],
    save: Callable[[Outcome[Any, Value]], None],
    should_stop: Callable[[], bool],
) -> None:
    """Save the outcomes of a claim as they arrive, and add their cost to the build. A text for
    which the model had its time has used an attempt.

    Raises:
        The error of an outage, after the other outcomes are saved.
    """
    outage: StrataError | None = None
    started, call_count = time.monotonic(), 0
    with claim.working():
        for outcome in outcomes:
            add_cost_to_build(build, outcome.cost)
            call_count += outcome.cost.call_count
            if outcome.error is not None and outcome.error.is_expected:
                outage = outcome.error
                if isinstance(outage, LanguageModelSilent):
                    claim.charge(outage, pk=outcome.key)
            else:
                save(outcome)
            if should_stop():
                claim.give_back()
                break
        if call_count:
            add_throughput_sample(LANGUAGE_MODEL_CALLS, call_count, time.monotonic() - started)
        if outage is not None:
            raise outage


def _write_drafts(
    build: IndexBuild, model: type[WrittenText], rows: dict[int, Any]
) -> Iterable[DraftOutcome[int]]:
    if model is Segmentation:
        yield from _find_boundaries(build, rows)
        return
    writer = get_writer()
    if model is Annotation:
        chunks = {
            pk: AnnotationInput(
                row.text,
                row.heading,
                row.artifact.title,
                row.is_cache_bypassed,
                row.page.label,
                row.artifact_id,
                row.attempts,
            )
            for pk, row in rows.items()
        }
        yield from writer.annotate(chunks, build.spec)
        return
    inputs: dict[int, SummaryInput] = {}
    for pk, row in rows.items():
        if row.page is not None:
            row.input_hash = hash_text(row.page.text)
            inputs[pk] = SummaryInput(
                [row.page.text], True, row.is_cache_bypassed, row.artifact_id, row.attempts
            )
            continue
        texts = get_page_summary_texts(row)
        row.input_hash = hash_inputs(texts)
        if len(texts) > 1:
            inputs[pk] = SummaryInput(
                texts, False, row.is_cache_bypassed, row.artifact_id, row.attempts
            )
        else:  # one page: copy its summary; no page: the summary is empty
            names = Summary.objects.of_pages().filter(build=build, artifact=row.artifact_id)
            name = names.not_empty().values_list("model_name", flat=True).first() or ""
            yield Outcome(pk, SummaryDraft("".join(texts), name))
    yield from writer.summarise(inputs, build.spec)


def _find_boundaries(build: IndexBuild, rows: dict[int, Any]) -> Iterable[Outcome[int, Any]]:
    strategy = build.spec.chunks.llm
    assert strategy is not None
    inputs = {}
    for pk, row in rows.items():
        row.input_hash = hash_text(row.source.text)
        inputs[pk] = segmenting.SegmentationInput(
            row.source.text, row.is_cache_bypassed, row.artifact_id, row.attempts
        )
    return segmenting.find_boundaries(inputs, strategy)


def _save_outcome(
    build: IndexBuild,
    row: Any,
    outcome: DraftOutcome[int],
    claim: Claim[Any],
    result: WriteBatchResult,
) -> None:
    """Save one outcome to its row if the claim still holds.

    Making a row due again, after an edit for example, removes the claim.
    """
    error = outcome.error
    claimed_row = claim.rows.filter(pk=row.pk, state=WrittenText.State.DUE)
    values: dict[str, Any] = {"input_hash": row.input_hash, **FRESH}
    if error is not None:
        values |= {"state": WrittenText.State.FAILED, "last_error": str(error)}
        with transaction.atomic():
            if claimed_row.update(**values):
                make_documents_due([build.pk], [row.artifact_id])
        result.artifact_ids.add(row.artifact_id)
        return
    assert outcome.value is not None
    values |= {"state": WrittenText.State.WRITTEN, "written_at": Now(), "is_by_hand": False}
    values |= {"is_cache_bypassed": False}
    values |= {"model_name": outcome.value.model_name, "written_input_hash": row.input_hash}
    values |= {"last_error": outcome.value.note}
    if _is_worse_than_stored(row, outcome.value):
        values |= {"model_name": row.model_name}
    elif isinstance(outcome.value, SummaryDraft):
        values |= _summary_field_values(row, outcome.value)
    elif isinstance(outcome.value, SegmentationDraft):
        values |= {"boundaries": outcome.value.boundaries}
    else:
        values |= annotation_field_values(outcome.value)
    with transaction.atomic():
        if not claimed_row.update(**values):
            return
        if isinstance(row, Summary) and row.page_id is not None:
            make_artifact_summary_due(build, row.artifact_id)
        make_documents_due([build.pk], [row.artifact_id])
    result.artifact_ids.add(row.artifact_id)


def _is_worse_than_stored(row: WrittenText, draft: Draft) -> bool:
    """Whether rules wrote this where a model has written the stored text from the same input."""
    is_by_rules = draft.model_name == EXTRACTIVE_MODEL_NAME and draft.note
    has_text_of_model = row.model_name not in {"", EXTRACTIVE_MODEL_NAME, BY_HAND_MODEL_NAME}
    is_current = row.written_input_hash == row.input_hash
    return bool(is_by_rules and has_text_of_model and is_current)


def _summary_field_values(row: Summary, draft: SummaryDraft) -> dict[str, Any]:
    citations = [
        {"page_index": row.page.index, "start": start, "end": end}
        for start, end in draft.citations
        if row.page is not None
    ]
    return {"text": draft.text, "text_hash": hash_text(draft.text), "citations": citations}


def delete_completions_without_document() -> None:
    StoredCompletion.objects.filter(
        artifact=None, created_at__lt=timezone.now() - timedelta(days=1)
    ).delete()


def add_cost_to_build(build: IndexBuild, cost: LanguageModelCost) -> None:
    spent = {
        name: F(name) + getattr(cost, name)
        for name in LanguageModelCost.__slots__
        if getattr(cost, name)
    }
    if spent:
        BuildLanguageModelCost.objects.get_or_create(build=build)
        BuildLanguageModelCost.objects.filter(build=build).update(**spent)
