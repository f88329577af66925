"""Claim due rows, have them written by a language model or rules, and save the results."""

import logging
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from core.exceptions import StrataError
from core.text import hash_text
from documents.models import Artifact
from indexing.kinds.registry import find_artifacts_with_unwritten_input
from indexing.lifecycle import pause_build
from indexing.models import IndexBuild, lease_expiry
from indexing.throughput import LANGUAGE_MODEL_CALLS, add_throughput_sample
from summaries.models import Annotation, BuildLanguageModelCost, Summary, WrittenText
from summaries.services.rows import (
    KINDS_BY_MODEL,
    annotation_field_values,
    get_page_summary_texts,
    hash_inputs,
    make_artifact_summary_due,
)
from summaries.writers import (
    AnnotationInput,
    DraftOutcome,
    LanguageModelCost,
    SummaryDraft,
    SummaryInput,
    get_claim_batch_size,
    get_writer,
)

logger = logging.getLogger(__name__)

ATTEMPTS_BEFORE_ISOLATION = 2  # after these a row is claimed alone, so that it cannot fail others
LEASE_SECONDS = 900  # a batch of calls, each with its retries; given back where a worker dies


@dataclass(slots=True)
class WriteBatchResult:
    """The result of one batch. ``kinds_by_artifact``: the artifacts whose nodes must be planned
    again, and which kinds of node."""

    row_count: int = 0
    kinds_by_artifact: dict[UUID, set[str]] = field(default_factory=dict)


def write_due_texts(
    build: IndexBuild, result: WriteBatchResult, *, should_stop: Callable[[], bool] = lambda: False
) -> None:
    """Claim one batch of due rows, have it written, and save each result as it arrives.

    ``result`` counts what was saved, even if this raises. A build that has reached its
    ``max_calls`` is paused; only corrections of invalid responses can exceed that number.

    Raises:
        LanguageModelUnavailable, LanguageModelMisconfigured, EmbeddingUnavailable, …: what was
            not written is unchanged, its attempt not counted; calling again later is safe.
    """
    limit = get_claim_batch_size()
    if build.max_calls is not None:
        spent = (
            BuildLanguageModelCost.objects.filter(build=build)
            .values_list("call_count", flat=True)
            .first()
        )
        limit = min(limit, build.max_calls - (spent or 0))
        if limit <= 0 and has_claimable_texts(build):
            pause_build(
                build,
                f"The {build.max_calls} calls of a language model it was given are made; "
                "resume it, or apply it again with more.",
            )
        if limit <= 0:
            return
    for model in (Summary, Annotation):
        _fail_exhausted_texts(build, model)
        claimed = _claim_batch(build, model, limit)
        if not claimed:
            continue
        result.row_count += len(claimed.rows)
        _write_claim(build, model, claimed, result, should_stop)
        return


@dataclass(frozen=True, slots=True)
class _WritingClaim:
    token: UUID
    rows: list[Any]

    def __bool__(self) -> bool:
        return bool(self.rows)


def claimable_texts(build: IndexBuild, model: type[WrittenText]) -> models.QuerySet[Any]:
    """Due rows that no worker holds and whose own inputs are written."""
    rows = model._default_manager.filter(
        Q(leased_until=None) | Q(leased_until__lt=Now()), build=build, state=WrittenText.State.DUE
    )
    if model is Summary:
        pages = Summary.objects.of_pages().filter(
            build=build, artifact=OuterRef("artifact"), state=WrittenText.State.DUE
        )
        rows = rows.filter(Q(page__isnull=False) | ~Exists(pages))
    return rows


def has_claimable_texts(build: IndexBuild) -> bool:
    return any(claimable_texts(build, model).exists() for model in KINDS_BY_MODEL)


def count_due_texts(build: IndexBuild) -> int:
    """The number of texts that are still due, including those that wait for others."""
    due = [model._default_manager.filter(build=build, state="due") for model in KINDS_BY_MODEL]
    return sum(rows.count() for rows in due)


def artifacts_without_planned_texts(build: IndexBuild) -> models.QuerySet[Artifact]:
    """Artifacts that lack texts of which no row is due yet, so they must be planned."""
    due = [
        Exists(model._default_manager.filter(build=build, artifact=OuterRef("pk"), state="due"))
        for model in KINDS_BY_MODEL
    ]
    return find_artifacts_with_unwritten_input(build).exclude(due[0] | due[1])


def _claim_batch(build: IndexBuild, model: type[WrittenText], limit: int) -> _WritingClaim:
    """Take a lease on a batch and count the attempt now. Rows with several attempts, whose worker
    may have died of them, are claimed one at a time."""
    token = uuid.uuid4()
    with transaction.atomic():
        rows = claimable_texts(build, model).order_by("pk")
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        first_tries = rows.filter(attempts__lt=ATTEMPTS_BEFORE_ISOLATION)[:limit]
        ids = list(first_tries.values_list("pk", flat=True))
        if not ids:
            retried_rows = rows.filter(attempts__lt=settings.STRATA_MAX_ATTEMPTS)[:1]
            ids = list(retried_rows.values_list("pk", flat=True))
        model._default_manager.filter(pk__in=ids).update(
            attempts=F("attempts") + 1, lease_token=token, leased_until=lease_expiry(LEASE_SECONDS)
        )
    claimed_rows = model._default_manager.filter(lease_token=token)
    inputs = ["artifact", "page"] if model is Summary else ["artifact"]
    return _WritingClaim(token, list(claimed_rows.select_related(*inputs)) if ids else [])


def _write_claim(
    build: IndexBuild,
    model: type[WrittenText],
    claim: _WritingClaim,
    result: WriteBatchResult,
    should_stop: Callable[[], bool],
) -> None:
    outage: StrataError | None = None
    is_stopped = False
    rows = {row.pk: row for row in claim.rows}
    started, call_count = time.monotonic(), 0
    try:
        for outcome in _write_drafts(build, model, rows):
            call_count += outcome.cost.call_count
            outage = (
                _save_outcome(build, model, rows[outcome.key], outcome, claim.token, result)
                or outage
            )
            if is_stopped := should_stop():
                break
        if call_count:
            add_throughput_sample(LANGUAGE_MODEL_CALLS, call_count, time.monotonic() - started)
    except StrataError as error:
        outage = error
    except Exception as error:
        logger.warning("Writing for %s failed", build, exc_info=True)
        _release_unfinished(
            model, claim.token, error=f"{type(error).__name__}: {error}", is_attempt_counted=True
        )
        return
    if outage is not None:
        _release_unfinished(model, claim.token, error=str(outage), is_attempt_counted=False)
        raise outage
    _release_unfinished(model, claim.token, error="", is_attempt_counted=not is_stopped)


def _write_drafts(
    build: IndexBuild, model: type[WrittenText], rows: dict[int, Any]
) -> Iterable[DraftOutcome[int]]:
    writer = get_writer()
    if model is Annotation:
        chunks = {
            pk: AnnotationInput(row.text, row.heading, row.artifact.title, row.is_cache_bypassed)
            for pk, row in rows.items()
        }
        yield from writer.annotate(chunks, build.spec)
        return
    inputs: dict[int, SummaryInput] = {}
    for pk, row in rows.items():
        if row.page is not None:
            row.input_hash = hash_text(row.page.text)
            inputs[pk] = SummaryInput([row.page.text], True, row.is_cache_bypassed)
            continue
        texts = get_page_summary_texts(row)
        row.input_hash = hash_inputs(texts)
        if len(texts) > 1:
            inputs[pk] = SummaryInput(texts, False, row.is_cache_bypassed)
        else:  # one page: copy its summary; no page: the summary is empty
            names = Summary.objects.of_pages().filter(build=build, artifact=row.artifact_id)
            name = names.not_empty().values_list("model_name", flat=True).first() or ""
            yield DraftOutcome(pk, SummaryDraft("".join(texts), name))
    yield from writer.summarise(inputs, build.spec)


def _save_outcome(
    build: IndexBuild,
    model: type[WrittenText],
    row: Any,
    outcome: DraftOutcome[int],
    token: UUID,
    result: WriteBatchResult,
) -> StrataError | None:
    """Save one outcome to its row if the claim still holds; return the error if it is an outage.

    Making a row due again, after an edit for example, removes the claim.
    """
    add_cost_to_build(build, outcome.cost)
    error = outcome.error
    if error is not None and (error.is_retryable or error.is_about_setup):
        return error
    claimed_row = model._default_manager.filter(
        pk=row.pk, lease_token=token, state=WrittenText.State.DUE
    )
    values: dict[str, Any] = {
        "attempts": 0, "lease_token": None, "leased_until": None, "last_error": "",
        "input_hash": row.input_hash,
    }  # fmt: skip
    if error is not None:
        values |= {"state": WrittenText.State.FAILED, "last_error": str(error)}
        claimed_row.update(**values)
        return None
    assert outcome.draft is not None
    values |= {"state": WrittenText.State.WRITTEN, "written_at": Now(), "is_by_hand": False}
    values |= {"is_cache_bypassed": False}
    values |= {"model_name": outcome.draft.model_name, "written_input_hash": row.input_hash}
    if isinstance(outcome.draft, SummaryDraft):
        values |= _summary_field_values(row, outcome.draft)
    else:
        values |= annotation_field_values(outcome.draft)
    with transaction.atomic():
        if not claimed_row.update(**values):
            return None
        if isinstance(row, Summary) and row.page_id is not None:
            make_artifact_summary_due(build, row.artifact_id)
    result.kinds_by_artifact.setdefault(row.artifact_id, set()).update(KINDS_BY_MODEL[model])
    return None


def _summary_field_values(row: Summary, draft: SummaryDraft) -> dict[str, Any]:
    citations = [
        {"page_index": row.page.index, "start": start, "end": end}
        for _, start, end in draft.citations
        if row.page is not None
    ]
    return {"text": draft.text, "text_hash": hash_text(draft.text), "citations": citations}


def _release_unfinished(
    model: type[WrittenText], token: UUID, *, error: str, is_attempt_counted: bool
) -> None:
    """Release the rest of a claim; unless ``is_attempt_counted``, subtract the attempt again."""
    claimed_rows = model._default_manager.filter(lease_token=token)
    if is_attempt_counted:
        out_of_attempts = claimed_rows.filter(
            state=WrittenText.State.DUE, attempts__gte=settings.STRATA_MAX_ATTEMPTS
        )
        out_of_attempts.update(state=WrittenText.State.FAILED)
    else:
        claimed_rows.update(attempts=F("attempts") - 1)
    claimed_rows.update(lease_token=None, leased_until=None, last_error=error)


def _fail_exhausted_texts(build: IndexBuild, model: type[WrittenText]) -> None:
    """Fail the rows whose worker died during their last attempt."""
    exhausted = claimable_texts(build, model).filter(attempts__gte=settings.STRATA_MAX_ATTEMPTS)
    exhausted.update(state=WrittenText.State.FAILED, last_error="Its worker died at each attempt.")


def release_all_leases() -> None:
    """Release every lease. Call it only in the single process that does all work."""
    for model in KINDS_BY_MODEL:
        leased_rows = model._default_manager.filter(lease_token__isnull=False)
        leased_rows.update(lease_token=None, leased_until=None)


def add_cost_to_build(build: IndexBuild, cost: LanguageModelCost) -> None:
    spent = {
        name: F(name) + getattr(cost, name)
        for name in LanguageModelCost.__slots__
        if getattr(cost, name)
    }
    if spent:
        BuildLanguageModelCost.objects.get_or_create(build=build)
        BuildLanguageModelCost.objects.filter(build=build).update(**spent)
