"""Writes to what is written about documents: planning it, having it written, taking it by hand.

Its rows are its queue, as the ledger's are: everything here can run twice, late, or beside
itself on another machine. Nothing here enqueues.
"""

import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from documents.exceptions import InvalidInput, StrataError, UnknownArtifact, Unparsable
from documents.indexes import get_catalog
from documents.models import Artifact, Page, hash_text
from documents.services import note_change, refuse_artifact
from indexing.exceptions import Uncuttable
from indexing.kinds import awaited_artifacts, get_kind
from indexing.models import IndexBuild, lease_end
from indexing.pace import LANGUAGE_MODEL, note_pace
from indexing.promotion import pause_build
from summaries.carrying import carry_annotations, carry_artifact_summary, carry_page_summaries
from summaries.models import Annotation, Spending, Summary, Writing, due_values
from summaries.writers import (
    BY_HAND,
    AnnotationDraft,
    AnnotationInput,
    Cost,
    Outcome,
    SummaryDraft,
    SummaryInput,
    batch_size,
    get_writer,
)

logger = logging.getLogger(__name__)

SUSPECT_ATTEMPTS = 2  # from here on a row is tried alone, lest it takes its neighbours along
LEASE_SECONDS = 900  # a batch of calls, each with its retries; given back where a worker dies
ROWS_PER_STATEMENT = 500

KINDS_OF: dict[type[Writing], tuple[str, ...]] = {
    Summary: ("page_summary", "artifact_summary"),
    Annotation: ("question",),
}


# --- Planning --------------------------------------------------------------------------------


def plan_writing(artifact_id: UUID, build: IndexBuild) -> None:
    """Make what is owed about one artifact agree with its pages and sources as they are now.

    What was written from a text that has not changed stays; what was written by hand stays
    anyway. Artifacts that wait to be parsed stay as they are.

    Raises:
        EmbeddingUnavailable, ModelUnavailable: the chunks could not be cut; retry.
    """
    spec = build.spec
    artifacts = Artifact.objects.documents().filter(
        pk=artifact_id, index=build.index_id, state=Artifact.State.PARSED
    )
    artifact = artifacts.with_sources().first()
    if artifact is None:
        return
    drafts = None
    if spec.questions is not None and not _is_annotated(artifact, build):
        try:
            drafts = draft_annotations(artifact, build)
        except Uncuttable as error:
            # No later try would end otherwise; the document's owner must hear of it.
            refuse_artifact(artifact, Unparsable(error.code, error.detail))
            return
    with transaction.atomic():
        current = artifacts.select_for_update().first()
        if current is None or current.revision != artifact.revision:
            return  # whoever changed it asks again
        if spec.page_summaries is not None:
            _plan_page_summaries(current, build)
        if spec.artifact_summaries is not None:
            _plan_artifact_summary(current, build)
        if drafts is not None:
            _write_annotations(current, build, drafts)


def _plan_page_summaries(artifact: Artifact, build: IndexBuild) -> None:
    rows = {
        row.page_id: row
        for row in Summary.objects.of_pages().filter(build=build, artifact=artifact).defer("text")
    }
    new, changed = [], []
    for page in artifact.pages.all():
        input_hash = hash_text(page.text)
        if page.content_hash != input_hash:  # from before pages were hashed, or changed in SQL
            page.save(update_fields=["content_hash"])
        row = rows.get(page.pk)
        if row is not None and row.input_hash == input_hash:
            continue
        if row is None:
            row = Summary(build=build, artifact=artifact, page=page)
            new.append(row)
        else:
            changed.append(row)
        row.input_hash = input_hash
        if not row.is_by_hand:
            _make_due(row)
            if not page.text.strip():  # there is nothing to say about it
                row.state, row.written_hash, row.text = Writing.State.WRITTEN, input_hash, ""
                row.text_hash = hash_text("")
    carry_page_summaries(build, [row for row in new if row.state == Writing.State.DUE])
    Summary.objects.bulk_create(new, batch_size=ROWS_PER_STATEMENT, ignore_conflicts=True)
    blank = [row for row in changed if row.state == Writing.State.WRITTEN and not row.is_by_hand]
    Summary.objects.bulk_update(
        changed, [*_DUE_FIELDS, "input_hash", "written_hash"], batch_size=ROWS_PER_STATEMENT
    )
    Summary.objects.bulk_update(blank, ["text", "text_hash"], batch_size=ROWS_PER_STATEMENT)


def _plan_artifact_summary(artifact: Artifact, build: IndexBuild) -> None:
    """Due whenever the summaries of its pages are others than it was made from. While one of
    those is due itself, it waits."""
    row, is_new = Summary.objects.get_or_create(build=build, artifact=artifact, page=None)
    input_hash = hash_inputs(_page_summaries(row))
    is_waiting = Summary.objects.of_pages().filter(
        build=build, artifact=artifact, state=Writing.State.DUE
    )
    if row.input_hash != input_hash and not row.is_by_hand and not is_waiting.exists():
        row.input_hash = input_hash
        _make_due(row)
        row.save(update_fields=[*_DUE_FIELDS, "input_hash"])
    if is_new and carry_artifact_summary(build, row):
        row.save()


def _is_annotated(artifact: Artifact, build: IndexBuild) -> bool:
    """Whether its chunks were cut from its sources as they are now."""
    cut = Annotation.objects.filter(build=build, artifact=artifact)
    from_sources = set(cut.values_list("source_id", "source_hash", "heading"))
    return from_sources == {
        (source.pk, hash_text(source.text), source.heading) for source in artifact.sources.all()
    }


def draft_annotations(artifact: Artifact, build: IndexBuild) -> list[Annotation]:
    """One for each chunk the recipe cuts, whether or not the chunks are embedded as well."""
    return [
        Annotation(  # type: ignore[misc]  # a chunk's node has all of its place
            build=build,
            artifact=artifact,
            chunk_id=chunk.point_id,
            page=chunk.page,
            source=chunk.source,
            source_hash=chunk.source_hash,
            strategy=chunk.strategy,
            chunk_index=chunk.chunk_index,
            start_offset=chunk.start_offset,
            end_offset=chunk.end_offset,
            text=chunk.text,
            heading=chunk.source.heading,
            input_hash=hash_inputs([chunk.source.heading, chunk.text]),
        )
        for chunk in get_kind("chunk").draft(artifact, build)
        if chunk.source is not None
    ]


def _write_annotations(artifact: Artifact, build: IndexBuild, drafts: Sequence[Annotation]) -> None:
    rows = Annotation.objects.filter(build=build, artifact=artifact)
    existing = {row.chunk_id: row for row in rows.defer("text", "questions", "fields")}
    vanished = existing.keys() - {draft.chunk_id for draft in drafts}
    rows.filter(chunk_id__in=vanished).delete()
    new, moved = [], []
    for draft in drafts:
        row = existing.get(draft.chunk_id)
        if row is None:
            new.append(draft)
            continue
        for name in _PLACE_FIELDS:
            setattr(row, name, getattr(draft, name))
        if row.input_hash != draft.input_hash:
            row.input_hash = draft.input_hash
            if not row.is_by_hand:
                _make_due(row)
        moved.append(row)
    carry_annotations(build, new)
    Annotation.objects.bulk_create(new, batch_size=ROWS_PER_STATEMENT)
    Annotation.objects.bulk_update(
        moved, [*_PLACE_FIELDS, *_DUE_FIELDS, "input_hash"], batch_size=ROWS_PER_STATEMENT
    )


_DUE_FIELDS = ["state", "attempts", "last_error", "lease_token", "leased_until"]
_PLACE_FIELDS = [
    "page", "source", "source_hash", "strategy", "chunk_index", "start_offset", "end_offset",
    "heading",
]  # fmt: skip


def _make_due(row: Writing) -> None:
    row.state, row.attempts, row.last_error = Writing.State.DUE, 0, ""
    row.lease_token = row.leased_until = None


def hash_inputs(texts: Iterable[str]) -> str:
    """SHA-256 of several texts, told apart."""
    return hash_text(json.dumps(list(texts)))


def _page_summaries(row: Summary) -> list[str]:
    """What an artifact's summary is made from, in the order of its pages."""
    pages = Summary.objects.of_pages().filter(build=row.build_id, artifact=row.artifact_id)
    return list(pages.with_text().order_by("page__index").values_list("text", flat=True))


# --- Writing ---------------------------------------------------------------------------------


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
class _Claim:
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


def _claim(build: IndexBuild, model: type[Writing], limit: int) -> _Claim:
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
            attempts=F("attempts") + 1, lease_token=token, leased_until=lease_end(LEASE_SECONDS)
        )
    held = model._default_manager.filter(lease_token=token)
    inputs = ["artifact", "page"] if model is Summary else ["artifact"]
    return _Claim(token, list(held.select_related(*inputs)) if ids else [])


def _write_claim(
    build: IndexBuild,
    model: type[Writing],
    claim: _Claim,
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
            note_pace(LANGUAGE_MODEL, call_count, time.monotonic() - started)
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
) -> Iterable[Outcome[int]]:
    writer = get_writer()
    if model is Annotation:
        chunks = {
            pk: AnnotationInput(row.text, row.heading, row.artifact.title, row.is_asked_anew)
            for pk, row in rows.items()
        }
        yield from writer.annotate(chunks, build.spec)
        return
    inputs: dict[int, SummaryInput] = {}
    for pk, row in rows.items():
        if row.page is not None:
            row.input_hash = hash_text(row.page.text)
            inputs[pk] = SummaryInput([row.page.text], True, row.is_asked_anew)
            continue
        texts = _page_summaries(row)
        row.input_hash = hash_inputs(texts)
        if len(texts) > 1:
            inputs[pk] = SummaryInput(texts, False, row.is_asked_anew)
        else:  # the summary of a single page says it all; of none, there is nothing to say
            names = Summary.objects.of_pages().filter(build=build, artifact=row.artifact_id)
            name = names.with_text().values_list("model_name", flat=True).first() or ""
            yield Outcome(pk, SummaryDraft("".join(texts), name))
    yield from writer.summarise(inputs, build.spec)


def _keep(
    build: IndexBuild,
    model: type[Writing],
    row: Any,
    outcome: Outcome[int],
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
    values |= {"is_asked_anew": False}
    values |= {"model_name": outcome.draft.model_name, "written_hash": row.input_hash}
    if isinstance(outcome.draft, SummaryDraft):
        values |= _summary_values(row, outcome.draft)
    else:
        values |= annotation_values(outcome.draft)
    with transaction.atomic():
        if not held.update(**values):
            return None
        if isinstance(row, Summary) and row.page_id is not None:
            _make_artifact_summary_due(build, row.artifact_id)
    written.touched.setdefault(row.artifact_id, set()).update(KINDS_OF[model])
    return None


def _summary_values(row: Summary, draft: SummaryDraft) -> dict[str, Any]:
    citations = [
        {"page_index": row.page.index, "start": start, "end": end}
        for _, start, end in draft.citations
        if row.page is not None
    ]
    return {"text": draft.text, "text_hash": hash_text(draft.text), "citations": citations}


def annotation_values(draft: AnnotationDraft) -> dict[str, Any]:
    """What a draft writes to its row; ``output_hash`` tells one from the next."""
    said = [draft.questions, draft.summary, draft.fields, draft.model_name]
    return {
        "questions": draft.questions,
        "summary": draft.summary,
        "fields": draft.fields,
        "dropped_count": draft.dropped_count,
        "output_hash": hash_text(json.dumps(said, sort_keys=True)),
    }


def _make_artifact_summary_due(build: IndexBuild, artifact_id: UUID) -> None:
    mine = Summary.objects.of_artifacts().filter(build=build, artifact=artifact_id)
    mine.filter(is_by_hand=False).update(
        state=Writing.State.DUE, attempts=0, last_error="", lease_token=None, leased_until=None
    )


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


# --- By hand ---------------------------------------------------------------------------------


@transaction.atomic
def take_summary(artifact_id: UUID, page_id: UUID | None, text: str | None) -> list[Summary]:
    """Take a page's or an artifact's summary by hand, in every build that has one; with None,
    have it written again.

    It is embedded again, and a page's makes its artifact's due. The artifact has a new revision.

    Raises:
        UnknownArtifact: there is no such artifact or page.
        InvalidInput: the index makes no such summaries, or the text is blank.
    """
    artifact = Artifact.objects.documents().select_for_update().filter(pk=artifact_id).first()
    page = None if page_id is None else Page.objects.filter(pk=page_id).first()
    if artifact is None or (page is None and page_id is not None):
        raise UnknownArtifact(field="id")
    kind = "artifact_summary" if page is None else "page_summary"
    builds = [
        build
        for build in IndexBuild.objects.receiving().filter(index=artifact.index)
        if kind in build.spec.kinds
    ]
    if not builds:
        raise InvalidInput(
            f"{artifact.index} makes no summaries of {'artifacts' if page is None else 'pages'}.",
            fix="Switch them on in its spec.",
        )
    if text is not None and not text.strip():
        raise InvalidInput("A summary says something.", field="text")
    note_change(artifact)
    Artifact.objects.filter(pk=artifact_id).update(revision=artifact.revision)
    return [_take_summary(build, artifact, page, text) for build in builds]


def _take_summary(
    build: IndexBuild, artifact: Artifact, page: Page | None, text: str | None
) -> Summary:
    row, _ = Summary.objects.select_for_update().get_or_create(
        build=build, artifact=artifact, page=page
    )
    inputs = hash_inputs(_page_summaries(row)) if page is None else hash_text(page.text)
    row.input_hash = inputs
    _make_due(row)
    if text is None:
        row.is_by_hand = False
    else:
        row.state, row.is_by_hand, row.model_name = Writing.State.WRITTEN, True, BY_HAND
        row.text, row.written_hash, row.citations = text.strip(), inputs, []
        row.written_at = Now()
    row.save()
    row.refresh_from_db()
    if page is not None:
        _make_artifact_summary_due(build, artifact.pk)
    return row


def write_again(rows: models.QuerySet[Any]) -> int:
    """Have these rows written anew, those by hand included, whatever was answered before; how
    many."""
    return rows.update(**due_values(is_asked_anew=True))


def retry_failed(rows: models.QuerySet[Any]) -> int:
    """Give the failed ones of these rows their attempts back; how many."""
    receiving = IndexBuild.objects.receiving().values("pk")
    return rows.filter(state=Writing.State.FAILED, build__in=receiving).update(**due_values())


@transaction.atomic
def take_annotation(
    annotation_id: int, *, questions: Sequence[str], summary: str, fields: dict[str, Any]
) -> Annotation:
    """Take a chunk's questions, its summary and its fields by hand; they are embedded again.

    Raises:
        InvalidInput: a field is not declared, or holds a value it may not hold.
    """
    row = Annotation.objects.select_for_update().get(pk=annotation_id)
    draft = AnnotationDraft(
        questions=list(dict.fromkeys(question.strip() for question in questions)),
        summary=summary.strip(),
        fields=clean_fields(row.build, fields),
        model_name=BY_HAND,
    )
    _make_due(row)
    row.state, row.is_by_hand, row.model_name = Writing.State.WRITTEN, True, BY_HAND
    row.written_hash, row.written_at = row.input_hash, timezone.now()
    for name, value in annotation_values(draft).items():
        setattr(row, name, value)
    row.save()
    return row


def clean_fields(build: IndexBuild, fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a chunk as they are kept.

    Raises:
        InvalidInput: a field is not declared, or holds a value it may not hold.
    """
    for name in fields:
        if name not in build.spec.metadata:
            raise InvalidInput(
                f"{build.index_id} declares no field {name!r}.",
                field="fields",
                allowed=build.spec.metadata,
            )
    return get_catalog().clean_metadata(build.index_id, fields)
