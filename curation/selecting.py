"""Which documents an edit is about, and what would become of each: the preview, and what is
stored of an edit that begins."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from access.grants import Grant
from core.exceptions import InvalidInput, StrataError
from curation.changes import Change, Values, find_differences, read_values
from documents.exceptions import DocumentHeld, HiddenParts, UnknownArtifact
from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.services import find_artifacts

MAX_DOCUMENTS = 20_000  # of one edit
READ_AT_ONCE = 500
SHOWN = 10  # changes and refusals that a preview shows
COLUMNS = (
    "id", "index", "title", "file_name", "external_id", "metadata", "groups", "is_held", "part_of",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selection:
    """``ids``: of documents; None: all that match."""

    ids: Sequence[UUID] | None
    match: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """``artifact``: None where there is none of this id."""

    artifact_id: UUID
    artifact: Artifact | None
    error: StrataError


@dataclass(slots=True)
class Plan:
    """``ids``: of the documents that would change."""

    count: int = 0
    ids: list[UUID] = field(default_factory=list)
    refused_count: int = 0
    sample: list[tuple[Artifact, Values, Values]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def clean_change(index: str, change: Change) -> Change:
    """The change with its values as they are stored. Raises ``InvalidInput``: a declared field does
    not allow a value."""
    return replace(change, fields=get_catalog().clean_metadata(index, change.fields))


def make_plan(index: str, selection: Selection, change: Change, grant: Grant) -> Plan:
    """Say what the change does to each selected document; nothing is written.

    Raises:
        InvalidInput: more documents are selected than one edit may have.
    """
    plan = Plan()
    found: set[UUID] = set()
    refuse_parts = _find_refused_parts(index, change, grant)
    for artifact in _iter_selected(index, selection, grant):
        found.add(artifact.pk)
        plan.count += 1
        try:
            before, after = _preview(artifact, change, grant)
            if (after or change.is_removal) and artifact.pk in refuse_parts:
                raise refuse_parts[artifact.pk]
        except StrataError as error:
            _refuse(plan, Refusal(artifact.pk, artifact, error))
            continue
        if not after and not change.is_removal:
            continue
        plan.ids.append(artifact.pk)
        if len(plan.sample) < SHOWN:
            plan.sample.append((artifact, before, after))
    for missing in _iter_missing(selection, found):
        plan.count += 1
        _refuse(plan, missing)
    return plan


def _iter_selected(index: str, selection: Selection, grant: Grant) -> Iterator[Artifact]:
    """A ZIP or an e-mail before its files, which get what it gets. In bounded memory: each may have
    long metadata."""
    rows = find_artifacts(index, grant, selection.match)
    if selection.ids is not None:
        rows = rows.filter(pk__in=selection.ids)
    if rows[: MAX_DOCUMENTS + 1].count() > MAX_DOCUMENTS:
        raise InvalidInput(
            f"More than {MAX_DOCUMENTS:,} documents match, which is more than one edit may have.",
            field="match",
            fix="Narrow it, for example by a folder.",
        )
    rows = rows.order_by("created_at", "id").only(*COLUMNS)
    for is_whole in (True, False):
        yield from rows.filter(part_of__isnull=is_whole).iterator(chunk_size=READ_AT_ONCE)


def _iter_missing(selection: Selection, found: Container[UUID]) -> Iterator[Refusal]:
    for artifact_id in dict.fromkeys(selection.ids or ()):
        if artifact_id not in found:
            error = UnknownArtifact(f"There is no artifact {artifact_id}.", field="ids")
            yield Refusal(artifact_id, None, error)


def _refuse(plan: Plan, refusal: Refusal) -> None:
    plan.refused_count += 1
    if len(plan.refusals) < SHOWN:
        plan.refusals.append(refusal)


def _preview(artifact: Artifact, change: Change, grant: Grant) -> tuple[Values, Values]:
    now = read_values(artifact)
    becomes = now | change.compute(artifact, grant)
    before, after = find_differences(now, becomes)
    for each in (before, after):
        if "groups" in each:
            each["groups"] = [group for group in each["groups"] if grant.shows_group(group)]
    return before, after


def _find_refused_parts(index: str, change: Change, grant: Grant) -> dict[UUID | None, StrataError]:
    """Documents of the index that cannot change because of their parts, with the reason."""
    parts = Artifact.objects.filter(index=index, part_of__isnull=False).order_by()
    refused: dict[UUID | None, StrataError] = {}
    if change.is_removal:
        held = parts.filter(is_held=True).values_list("part_of", flat=True).distinct()
        refused |= {each: DocumentHeld("A file in it is under a legal hold.") for each in held}
    if not grant.sees_all_documents and (change.is_removal or change.title is None):
        hidden = parts.exclude(pk__in=parts.visible_to(grant).values("pk"))
        hidden_ids = hidden.values_list("part_of", flat=True).distinct()
        refused |= {each: HiddenParts(field="id") for each in hidden_ids}
    return refused
