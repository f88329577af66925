"""Begin edits, work on them batch by batch, and undo them.

An edit has a row for each of its documents, so that it can stop and go on anywhere. Every write is
one of ``documents.services``, in the transaction that notes it on the row.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from access.grants import EVERYTHING, Grant
from access.usage_limits import require_room
from core.exceptions import StrataError
from core.leases import FRESH, Claim
from curation.changes import (
    Change,
    Values,
    compute_restored,
    find_changed_since,
    find_differences,
    read_values,
)
from curation.exceptions import NotUndoable, SelectionChanged, UnknownEdit
from curation.models import Edit, EditedDocument
from curation.selecting import Plan, Selection, clean_change, make_plan
from documents.exceptions import HiddenParts
from documents.groups import require_all_visible
from documents.models import Artifact
from documents.services import remove_artifact, update_artifact

logger = logging.getLogger(__name__)

UNDO_DAYS = 7  # former values are kept as long
BATCH = 25  # documents that share a transaction: a commit waits for the disk

State = EditedDocument.State


def list_edits(grant: Grant, **wanted: Any) -> list[Edit]:
    """The edits with these values that the grant shows: those of who could see no more than it
    does, if it still includes each of their documents."""
    hidden = EditedDocument.objects.exclude(artifact__in=Artifact.objects.visible_to(grant))
    rows = grant.limit(Edit.objects.filter(**wanted))
    if not grant.sees_all_documents:
        rows = rows.exclude(pk__in=hidden.values("edit"))
    others = Grant(groups=grant.groups)
    return [edit for edit in rows if others.covers(Grant(groups=edit.grant.groups))]


def require_edit(edit_id: UUID, grant: Grant) -> Edit:
    """The edit with this id. Raises ``UnknownEdit``: the grant shows none."""
    if found := list_edits(grant, pk=edit_id):
        return found[0]
    raise UnknownEdit(field="id")


def begin_edit(
    index: str,
    selection: Selection,
    change: Change,
    grant: Grant,
    *,
    asked_by: str,
    expected: int | None = None,
    note: Callable[[Sequence[UUID]], None] = lambda ids: None,
) -> tuple[Edit, Plan]:
    """Store an edit, which ``work_on_next`` carries out. ``expected``: how many documents its
    preview would have changed. ``note``: told the documents, in the transaction.

    Raises:
        InvalidInput: a value is not allowed, or too many documents are selected.
        SelectionChanged: another number of documents would change.
        TooManyJobs: ``asked_by`` has as many unfinished edits as a key may.
    """
    unfinished = Edit.objects.unfinished().filter(asked_by=asked_by)
    require_room(asked_by, unfinished, settings.STRATA_KEY_WAITING_JOBS, "edits")
    change = clean_change(index, change)
    with transaction.atomic():
        plan = make_plan(index, selection, change, grant)
        if expected is not None and expected != len(plan.ids):
            raise SelectionChanged(
                f"{len(plan.ids):,} documents would change, not {expected:,}.",
                field="expected",
                fix="Look at the preview again.",
            )
        now = timezone.now()
        edit = Edit.objects.create(
            index=index,
            change=change.as_json(),
            grant_indexes=_sorted(grant.indexes),
            grant_groups=_sorted(grant.groups),
            asked_by=asked_by[:150],
            count=len(plan.ids),
            undo_until=None if change.is_removal else now + timedelta(days=UNDO_DAYS),
        )
        EditedDocument.objects.bulk_create(
            (EditedDocument(edit=edit, artifact_id=each) for each in plan.ids), batch_size=500
        )
        note(plan.ids)
    return edit, plan


def begin_undo(
    edit_id: UUID, grant: Grant, note: Callable[[Sequence[UUID]], None] = lambda ids: None
) -> Edit:
    """Have an edit undone: what it has changed gets its former values, and what it has not changed
    yet stays, which is all that remains to be done for one that removes documents. ``note``: told
    the documents, in the transaction.

    Raises:
        NotUndoable: it has removed all its documents, is being undone, or its time is over.
    """
    with transaction.atomic():
        require_edit(edit_id, grant)
        edit = Edit.objects.select_for_update().get(pk=edit_id)
        if edit.undo_until is None and edit.state != Edit.State.WAITING:
            raise NotUndoable("Documents that were deleted cannot be brought back.")
        if edit.state in (Edit.State.UNDOING, Edit.State.UNDONE):
            raise NotUndoable("This edit is undone, or is being undone.")
        if edit.undo_until and edit.undo_until < timezone.now():
            raise NotUndoable(f"An edit can be undone for {UNDO_DAYS} days.")
        edit.documents.filter(state=State.WAITING).update(state=State.UNDONE)
        for name, value in FRESH.items():
            setattr(edit, name, value)
        edit.state, edit.finished_at = Edit.State.UNDOING, None
        edit.save()
        changed = edit.documents.filter(state=State.CHANGED, is_shared=False)
        note(list(changed.values_list("artifact_id", flat=True)))
    return edit


def count_documents(edits: Sequence[Edit]) -> dict[UUID, dict[str, int]]:
    """How many documents of each edit wait, were refused and were undone; the others are
    changed, also those that are gone since."""
    rows = EditedDocument.objects.filter(edit__in=edits, is_shared=False)
    counted = rows.order_by().values_list("edit", "state").annotate(count=Count("pk"))
    counts = {edit.pk: dict.fromkeys(("waiting", "refused", "undone"), 0) for edit in edits}
    for edit_id, state, count in counted:
        if state in counts[edit_id]:
            counts[edit_id][state] = count
    for edit in edits:
        counts[edit.pk]["changed"] = edit.count - sum(counts[edit.pk].values())
    return counts


def list_refused(edit: Edit, grant: Grant, limit: int) -> list[EditedDocument]:
    """The first documents that were refused, of those that the grant shows."""
    rows = edit.documents.filter(
        state=State.REFUSED, artifact__in=Artifact.objects.visible_to(grant)
    )
    return list(rows.select_related("artifact")[:limit])


def work_on_next() -> bool:
    """Work on one batch of the edit whose turn it is; return whether there was one."""
    Edit.objects.unfinished().give_up_exhausted()
    claim = Edit.objects.unfinished().claim_batch(1)
    if claim is None:
        return False
    with claim.working():
        _work_on_batch(claim)
    return True


def forget_old_edits() -> None:
    """Delete edits, with the former values of their documents, that can be undone no longer."""
    oldest = timezone.now() - timedelta(days=UNDO_DAYS)
    Edit.objects.filter(created_at__lt=oldest).exclude(
        pk__in=Edit.objects.unfinished().order_by().values("pk")
    ).delete()


def _sorted(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


@transaction.atomic
def _work_on_batch(claim: Claim[Edit]) -> None:
    edit = claim.rows.select_for_update().first()
    if edit is None:  # another worker has claimed it
        return
    is_undo = edit.state == Edit.State.UNDOING
    has_more = _undo_batch(edit) if is_undo else _apply_batch(edit)
    edit.attempts, edit.last_error, edit.worked_at = 0, "", timezone.now()
    if not has_more:
        edit.state = Edit.State.UNDONE if is_undo else Edit.State.DONE
        edit.finished_at = edit.worked_at
    edit.save(update_fields=["attempts", "last_error", "worked_at", "state", "finished_at"])


def _take_batch(edit: Edit, state: str) -> tuple[list[EditedDocument], bool]:
    """The next rows and whether there are more, as they were stored: a ZIP or an e-mail before its
    files."""
    rows = edit.documents.filter(state=state).select_related("artifact")
    batch = list(rows.order_by("pk")[: BATCH + 1])
    return batch[:BATCH], len(batch) > BATCH


def _attempt(row: EditedDocument, write: Callable[[], None]) -> None:
    """Write in a savepoint; what is refused is noted on the row."""
    try:
        with transaction.atomic():
            write()
    except StrataError as error:
        if error.is_expected:
            raise  # the whole batch is tried again later
        row.refuse(error.as_json())


# --- Apply -----------------------------------------------------------------------------------


def _apply_batch(edit: Edit) -> bool:
    change, grant = Change(**edit.change), edit.grant
    rows, has_more = _take_batch(edit, State.WAITING)
    for row in rows:
        if change.is_removal:
            _attempt(row, partial(_remove, row, grant))
        else:
            _attempt(row, partial(_apply, row, change, grant))
    return has_more


def _remove(row: EditedDocument, grant: Grant) -> None:
    if Artifact.objects.filter(pk=row.artifact_id).exists():  # else it went with its ZIP
        remove_artifact(row.artifact_id, grant)


def _apply(row: EditedDocument, change: Change, grant: Grant) -> None:
    artifact = Artifact.objects.select_for_update().require(row.artifact_id, grant)
    parts = list(artifact.parts.select_for_update()) if artifact.part_of_id is None else []
    former = {each.pk: read_values(each) for each in [artifact, *parts]}
    if wanted := change.compute(artifact, grant):
        changed = update_artifact(artifact.pk, **wanted, grant=grant)
        _note(row, former[artifact.pk], read_values(changed))
    for part in Artifact.objects.filter(pk__in=[each.pk for each in parts]):
        now = read_values(part)
        if now != former[part.pk]:
            shared, _ = EditedDocument.objects.get_or_create(
                edit_id=row.edit_id, artifact=part, defaults={"is_shared": True}
            )
            _note(shared, former[part.pk], now)
    row.state = State.CHANGED
    row.save(update_fields=["state"])


def _note(row: EditedDocument, former: dict[str, Any], now: dict[str, Any]) -> None:
    """Keep what was changed. A file that was changed with its ZIP, and then on its own, keeps what
    it was before both."""
    first = former | row.before
    if "metadata" in row.before:
        first["metadata"] = compute_restored(row, former)["metadata"]
    row.before, row.after = find_differences(first, now)
    if row.is_shared:
        row.state = State.CHANGED
    row.save(update_fields=["before", "after", "state"])


# --- Undo ------------------------------------------------------------------------------------


def _undo_batch(edit: Edit) -> bool:
    rows, has_more = _take_batch(edit, State.CHANGED)
    done: set[int] = set()
    for row in rows:
        if row.pk in done:
            continue
        of_parts = Q(artifact__part_of=row.artifact_id, state=State.CHANGED)
        family = [row, *edit.documents.filter(of_parts).select_related("artifact")]
        done |= {each.pk for each in family}
        _attempt(row, partial(_restore, family, edit.grant))
        if row.state == State.REFUSED:
            for part in family[1:]:
                part.refuse(row.error or {})
    return has_more


def _restore(family: Sequence[EditedDocument], grant: Grant) -> None:
    """Give a document and its files, which were changed with it, their former values.

    The rights of who edited it do not count: some would not suffice to give it the groups that it
    had, such as none. They have to see the documents, and what someone has changed since stays.
    """
    restored: dict[UUID, Values] = {}
    for row in family:
        artifact = Artifact.objects.select_for_update().require(row.artifact_id, grant)
        if name := find_changed_since(row, now := read_values(artifact)):
            raise NotUndoable(f"Somebody has changed its {name} since.", field=name)
        values = restored.setdefault(artifact.pk, {})
        values |= compute_restored(row, now)
        if artifact.part_of_id is None:
            require_all_visible(artifact.parts, grant, HiddenParts)
            # It is written first, and gives all of its files its values: also those to which the
            # edit did nothing, such as one that had the groups before.
            for part in artifact.parts.select_for_update():
                restored[part.pk] = {"metadata": part.metadata, "groups": part.groups}
    for artifact_id, values in restored.items():
        update_artifact(artifact_id, **values, grant=EVERYTHING)
    for row in family:
        row.state = State.UNDONE
        row.save(update_fields=["state"])
