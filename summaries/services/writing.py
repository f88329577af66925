"""What is due, claimed and written by a model or by rules, and kept."""

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
from indexing.kinds.registry import awaited_artifacts
from indexing.lifecycle import pause_build
from indexing.models import IndexBuild, lease_expiry
from indexing.throughput import LANGUAGE_MODEL_CALLS, add_throughput_sample
from summaries.models import Annotation, Spending, Summary, Writing
from summaries.services.rows import (
    KINDS_OF,
    annotation_values,
    hash_inputs,
    make_artifact_summary_due,
    page_summaries,
)
from summaries.writers import (
    AnnotationInput,
    Cost,
    DraftOutcome,
    SummaryDraft,
    SummaryInput,
    batch_size,
    get_writer,
)

logger = logging.getLogger(__name__)

SUSPECT_ATTEMPTS = 2  # from here on a row is tried alone, lest it takes its neighbours along
LEASE_SECONDS = 900  # a batch of calls, each with its retries; given back where a worker dies


@dataclass(slots=True)
class Written:
    """What one batch came to. ``touched``: artifacts whose nodes must be planned again, with
    their kinds."""

    row_count: int = 0
    touched: dict[UUID, set[str]] = field(default_factory=dict)


def write_due(
    build: IndexBuild, written: Written, *, should_stop: Callable[[], bool] = lambda: False
) -> None:
    """Claim one batch of what is due, have it written, and keep each result as it comes;
    ``written`` tells of what was kept, even where this raises. A build that has made the calls
    it may make is paused; only mending the last answers can take it beyond them.

    Raises:
        LanguageModelUnavailable, LanguageModelMisconfigured, EmbeddingUnavailable, …: what was
            not written is as it was, its attempt given back; calling again later is safe.
    """
    limit = batch_size()
    if build.max_calls is not None:
        spent = Spending.objects.filter(build=build).values_list("call_count", flat=True).first()
        limit = min(limit, build.max_calls - (spent or 0))
        if limit <= 0 and has_writable(build):
            pause_build(
                build,
                f"The {build.max_calls} calls of a language model it was given are made; "
                "resume it, or apply it again with more.",
            )
        if limit <= 0:
            return
    for model in (Summary, Annotation):
        _give_up_exhausted(build, model)
        claimed = _claim(build, model, limit)
        if not claimed:
            continue
        written.row_count += len(claimed.rows)
        _write_claim(build, model, claimed, written, should_stop)
        return


@dataclass(frozen=True, slots=True)
class _WritingClaim:
    token: UUID
    rows: list[Any]

    def __bool__(self) -> bool:
        return bool(self.rows)


def writable(build: IndexBuild, model: type[Writing]) -> models.QuerySet[Any]:
    """Due rows no one holds, whose own inputs are written."""
    rows = model._default_manager.filter(
        Q(leased_until=None) | Q(leased_until__lt=Now()), build=build, state=Writing.State.DUE
    )
    if model is Summary:
        pages = Summary.objects.of_pages().filter(
            build=build, artifact=OuterRef("artifact"), state=Writing.State.DUE
        )
        rows = rows.filter(Q(page__isnull=False) | ~Exists(pages))
    return rows


def has_writable(build: IndexBuild) -> bool:
    return any(writable(build, model).exists() for model in KINDS_OF)


def due_count(build: IndexBuild) -> int:
    """How much is still to be written, or waits for what is."""
    due = [model._default_manager.filter(build=build, state="due") for model in KINDS_OF]
    return sum(rows.count() for rows in due)


def unplanned_artifacts(build: IndexBuild) -> models.QuerySet[Artifact]:
    """Artifacts of which it has not been worked out what is still owed."""
    due = [
        Exists(model._default_manager.filter(build=build, artifact=OuterRef("pk"), state="due"))
        for model in KINDS_OF
    ]
    return awaited_artifacts(build).exclude(due[0] | due[1])


def _claim(build: IndexBuild, model: type[Writing], limit: int) -> _WritingClaim:
    """Take a lease on a batch; the attempt is counted now. Rows that saw their worker die are
    taken one at a time."""
    token = uuid.uuid4()
    with transaction.atomic():
        rows = writable(build, model).order_by("pk")
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        fresh = rows.filter(attempts__lt=SUSPECT_ATTEMPTS)[:limit]
        ids = list(fresh.values_list("pk", flat=True))
        if not ids:
            suspects = rows.filter(attempts__lt=settings.STRATA_MAX_ATTEMPTS)[:1]
            ids = list(suspects.values_list("pk", flat=True))
        model._default_manager.filter(pk__in=ids).update(
            attempts=F("attempts") + 1, lease_token=token, leased_until=lease_expiry(LEASE_SECONDS)
        )
    held = model._default_manager.filter(lease_token=token)
    inputs = ["artifact", "page"] if model is Summary else ["artifact"]
    return _WritingClaim(token, list(held.select_related(*inputs)) if ids else [])


def _write_claim(
    build: IndexBuild,
    model: type[Writing],
    claim: _WritingClaim,
    written: Written,
    should_stop: Callable[[], bool],
) -> None:
    outage: StrataError | None = None
    is_stopped = False
    rows = {row.pk: row for row in claim.rows}
    started, call_count = time.monotonic(), 0
    try:
        for outcome in _outcomes(build, model, rows):
            call_count += outcome.cost.call_count
            outage = _keep(build, model, rows[outcome.key], outcome, claim.token, written) or outage
            if is_stopped := should_stop():
                break
        if call_count:
            add_throughput_sample(LANGUAGE_MODEL_CALLS, call_count, time.monotonic() - started)
    except StrataError as error:
        outage = error
    except Exception as error:
        logger.warning("Writing for %s failed", build, exc_info=True)
        _release(model, claim.token, error=f"{type(error).__name__}: {error}", has_cost=True)
        return
    if outage is not None:
        _release(model, claim.token, error=str(outage), has_cost=False)
        raise outage
    _release(model, claim.token, error="", has_cost=not is_stopped)


def _outcomes(
    build: IndexBuild, model: type[Writing], rows: dict[int, Any]
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
        texts = page_summaries(row)
        row.input_hash = hash_inputs(texts)
        if len(texts) > 1:
            inputs[pk] = SummaryInput(texts, False, row.is_cache_bypassed)
        else:  # the summary of a single page says it all; of none, there is nothing to say
            names = Summary.objects.of_pages().filter(build=build, artifact=row.artifact_id)
            name = names.with_text().values_list("model_name", flat=True).first() or ""
            yield DraftOutcome(pk, SummaryDraft("".join(texts), name))
    yield from writer.summarise(inputs, build.spec)


def _keep(
    build: IndexBuild,
    model: type[Writing],
    row: Any,
    outcome: DraftOutcome[int],
    token: UUID,
    written: Written,
) -> StrataError | None:
    """Write one outcome to its row, if the claim on it still stands; an outage is returned.

    Whoever makes a row due again, for an edit say, takes the claim away.
    """
    spend(build, outcome.cost)
    error = outcome.error
    if error is not None and (error.is_retryable or error.is_about_setup):
        return error
    held = model._default_manager.filter(pk=row.pk, lease_token=token, state=Writing.State.DUE)
    values: dict[str, Any] = {
        "attempts": 0, "lease_token": None, "leased_until": None, "last_error": "",
        "input_hash": row.input_hash,
    }  # fmt: skip
    if error is not None:
        values |= {"state": Writing.State.FAILED, "last_error": str(error)}
        held.update(**values)
        return None
    assert outcome.draft is not None
    values |= {"state": Writing.State.WRITTEN, "written_at": Now(), "is_by_hand": False}
    values |= {"is_cache_bypassed": False}
    values |= {"model_name": outcome.draft.model_name, "written_hash": row.input_hash}
    if isinstance(outcome.draft, SummaryDraft):
        values |= _summary_values(row, outcome.draft)
    else:
        values |= annotation_values(outcome.draft)
    with transaction.atomic():
        if not held.update(**values):
            return None
        if isinstance(row, Summary) and row.page_id is not None:
            make_artifact_summary_due(build, row.artifact_id)
    written.touched.setdefault(row.artifact_id, set()).update(KINDS_OF[model])
    return None


def _summary_values(row: Summary, draft: SummaryDraft) -> dict[str, Any]:
    citations = [
        {"page_index": row.page.index, "start": start, "end": end}
        for _, start, end in draft.citations
        if row.page is not None
    ]
    return {"text": draft.text, "text_hash": hash_text(draft.text), "citations": citations}


def _release(model: type[Writing], token: UUID, *, error: str, has_cost: bool) -> None:
    """Let go of what is left of a claim; without cost the attempt is given back."""
    held = model._default_manager.filter(lease_token=token)
    if has_cost:
        spent = held.filter(state=Writing.State.DUE, attempts__gte=settings.STRATA_MAX_ATTEMPTS)
        spent.update(state=Writing.State.FAILED)
    else:
        held.update(attempts=F("attempts") - 1)
    held.update(lease_token=None, leased_until=None, last_error=error)


def _give_up_exhausted(build: IndexBuild, model: type[Writing]) -> None:
    """Fail the rows whose worker died with their last attempt."""
    exhausted = writable(build, model).filter(attempts__gte=settings.STRATA_MAX_ATTEMPTS)
    exhausted.update(state=Writing.State.FAILED, last_error="Its worker died at each attempt.")


def release_leases() -> None:
    """Let go of every claim. Only for the one process that owns all work."""
    for model in KINDS_OF:
        held = model._default_manager.filter(lease_token__isnull=False)
        held.update(lease_token=None, leased_until=None)


def spend(build: IndexBuild, cost: Cost) -> None:
    spent = {name: F(name) + getattr(cost, name) for name in Cost.__slots__ if getattr(cost, name)}
    if spent:
        Spending.objects.get_or_create(build=build)
        Spending.objects.filter(build=build).update(**spent)
