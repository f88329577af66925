"""Add, find, update and remove artifacts; ``reading.py`` reads their files, and ``pages.py`` writes
what was read.

Nothing here enqueues work; ``signals.py`` does, once a change is committed.
"""

import logging
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left, Now
from django.db.models.lookups import Exact

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from core.leases import FRESH
from core.paging import narrow
from core.text import clean_name, clean_text
from documents.contents import Content as Content
from documents.contents import TextContent as TextContent
from documents.exceptions import ContentConflict, DocumentHeld, HiddenParts, UnknownArtifact
from documents.groups import (
    choose_changed_groups,
    choose_groups_of_new_document,
    is_visible,
    require_all_visible,
)
from documents.identity import (
    Found,
    IfExists,
    Place,
    find_by_external_ids,
    find_existing,
    identify,
    identify_by_content,
)
from documents.index_catalog import get_catalog
from documents.models import (
    Artifact,
    ArtifactQuerySet,
    Page,
    PendingRevision,
    Replaced,
    RevisedRow,
)
from documents.originals import FileContent, delete_original_on_commit, require_free_disk
from documents.pages import replace_pages
from documents.parsing import ParsedPage, ocr
from documents.partial_reading import IS_PARTIAL
from documents.storage import get_storage
from documents.titles import choose_title

logger = logging.getLogger(__name__)


class AddOutcome(StrEnum):
    ADDED = "added"
    UNCHANGED = "unchanged"
    REVISED = "revised"


def add_artifact(
    index: str,
    content: Content,
    *,
    title: str | None = None,
    metadata: dict[str, Any] | None = None,
    external_id: str | None = None,
    url: str | None = None,
    groups: Sequence[str] | None = None,
    grant: Grant = EVERYTHING,
    added_by: str = "",
    part_of: Artifact | None = None,
    place: Place | None = None,
    if_exists: IfExists | None = None,
) -> tuple[Artifact, AddOutcome]:
    """Add a document to an index; adding the same one again creates no duplicate.

    Two documents are the same if they have the same ``external_id``; without one, if their files
    come from the same ``place``, or have the same bytes and suffix, or if texts have the same
    pages, title and URL. With the same content, only a different title, URL, metadata or groups are
    saved, and an artifact that failed, or was read before OCR was installed, is parsed again. Other
    content is a new revision; ``replaced`` of the artifact says what it replaced. An
    ``external_id`` that is new is given to the document that has the same content and none.

    A document of an earlier release, which kept no place, may have the name and the content of the
    file: then it is taken for the same, and its place stays empty until ``set_places``.

    ``groups``: None keeps those of an existing document, and gives a new one those of the grant.
    ``part_of``: the ZIP or e-mail that holds the document. Only its ``external_id`` identifies a
    part, which keeps the groups and metadata that it has. ``if_exists``: what becomes of a document
    of the same name and other content. By default an external id replaces it, and a file without
    one is kept beside it.

    Raises:
        InvalidInput: the metadata does not match the index's declaration, or the grant may not
            give the document these groups.
        ContentConflict: the document is in the index, and the grant does not include it, or it is
            no part of ``part_of``.
        DocumentExists, SeveralDocumentsExist: the caller has to say whether to replace it.
        DocumentHeld: the content would replace that of a document under a legal hold.
        HiddenParts: parts of the document would change, and the grant does not include one.
        DiskFull: too little disk space is free.
    """
    with _check_space_then_discard(content):
        attributes = _clean_attributes(index, title=title, metadata=metadata, url=url)
        if part_of is not None:
            attributes["part_of"] = part_of
        find = partial(
            find_existing, index, content, attributes,
            external_id=external_id, place=place, if_exists=if_exists, grant=grant,
        )  # fmt: skip
        path = place.path if place is not None else None
        add = partial(
            _add_or_update, index, find, content, attributes, groups, grant, added_by, path
        )
        try:
            return add()
        except IntegrityError:
            return add()  # another process added the same document meanwhile: this finds it


def find_artifacts(index: str, grant: Grant, wanted: Mapping[str, Any]) -> ArtifactQuerySet:
    """The artifacts of an index that the grant includes and that have these values, with their
    status. ``wanted``: what ``ArtifactMatchSerializer`` reads."""
    rows = Artifact.objects.visible_to(grant).filter(index=index)
    rows = rows.named_like(wanted.get("words", ""))
    if folder := wanted.get("folder"):
        # Not ``startswith``, which ignores case in SQLite.
        external_id, file_name = (Left(name, len(folder)) for name in ("external_id", "file_name"))
        rows = rows.filter(Q(Exact(external_id, folder)) | Q(Exact(file_name, folder)))
    rows = get_catalog().with_status(rows, index)
    names = ("status", "external_id", "media_type", "part_of")
    rows = cast(ArtifactQuerySet, narrow(rows, wanted, *names, title="title__icontains"))
    if "is_partial" in wanted:
        rows = rows.filter(IS_PARTIAL) if wanted["is_partial"] else rows.exclude(IS_PARTIAL)
    return rows


def set_places(places: Mapping[uuid.UUID, str]) -> None:
    """Note where documents come from of which that was not known. It is no change of them."""
    for artifact_id, place in places.items():
        Artifact.objects.filter(pk=artifact_id, place="").update(place=place)


def require_page(page_id: uuid.UUID, grant: Grant) -> Page:
    """The page with its artifact's id, without its text. Raises ``UnknownArtifact``: the grant
    includes no page with this id."""
    visible = grant.limit(Page.objects.filter(is_visible(grant, "artifact__")))
    page = visible.filter(pk=page_id).only("artifact_id").first()
    if page is None:
        raise UnknownArtifact("There is no page with this id.", field="id")
    return page


def replace_content(
    artifact_id: uuid.UUID, content: Content, grant: Grant = EVERYTHING, added_by: str = ""
) -> tuple[Artifact, AddOutcome]:
    """Give an artifact other content; its identity, title, metadata and groups stay.

    Raises:
        ContentConflict: another artifact of the index is identified by this content.
        DocumentHeld: it is under a legal hold.
        HiddenParts: the grant does not include one of its parts.
    """
    try:
        with _check_space_then_discard(content), transaction.atomic():
            artifact = Artifact.objects.select_for_update().require(artifact_id, grant)
            if artifact.sha256 == content.sha256:
                return artifact, AddOutcome.UNCHANGED
            _require_replaceable(artifact, grant)
            artifact.replaced = _describe_replaced(artifact)
            if artifact.external_id is None:
                attributes = {"title": artifact.title, "url": artifact.url}
                artifact.identity = identify_by_content(content, attributes)
            assign_next_revision(artifact)
            _set_content(artifact, content, added_by)
            return artifact, AddOutcome.REVISED
    except IntegrityError:
        raise ContentConflict(
            "Another artifact of this index already has this content.",
            fix="Delete one of the two, or give them external ids.",
        ) from None


def update_artifact(
    artifact_id: uuid.UUID,
    *,
    title: str | None = None,
    metadata: dict[str, Any] | None = None,
    url: str | None = None,
    external_id: str | None = None,
    groups: Sequence[str] | None = None,
    is_held: bool | None = None,
    grant: Grant = EVERYTHING,
) -> Artifact:
    """Change title, URL, metadata or groups, give it an external id, or begin or end a legal hold;
    what is not given stays. A hold is no change of the document: it gets no new revision.

    Raises:
        InvalidInput: the metadata does not match the index's declaration, the grant may not change
            the groups so, or the artifact has another external id.
        ContentConflict: another artifact of the index has this external id.
        HiddenParts: its parts would change, too, and the grant does not include one.
    """
    with transaction.atomic():
        artifact = Artifact.objects.select_for_update().require(artifact_id, grant)
        attributes = _clean_attributes(artifact.index, title=title, metadata=metadata, url=url)
        external_id = clean_text(external_id) if external_id is not None else None
        if groups is not None:
            attributes["groups"] = choose_changed_groups(grant, artifact.groups, groups)
        if external_id is not None and external_id != artifact.external_id:
            if artifact.external_id is not None:
                raise InvalidInput(
                    f"The artifact has the external id {artifact.external_id!r}, which cannot "
                    "change.",
                    field="external_id",
                )
            if find_by_external_ids(artifact.index, [external_id]):
                raise ContentConflict(
                    "Another artifact of this index has this external id.",
                    fix="Give this one another external_id, or delete one of the two.",
                )
            attributes |= {"external_id": external_id, "identity": identify(external_id)}
        if _apply_attributes(artifact, attributes):
            assign_next_revision(artifact)
            artifact.save()
            _share_with_parts(artifact, attributes, grant)
        if is_held is not None:
            artifact.is_held = is_held
            set_hold(Artifact.objects.filter(pk=artifact_id), is_held, grant)
    return artifact


def set_hold(artifacts: QuerySet[Artifact], is_held: bool, grant: Grant = EVERYTHING) -> int:
    """Begin or end a legal hold on artifacts and their parts; return how many artifacts were
    given. Raises ``HiddenParts``: the grant does not include one of the parts."""
    parts = Artifact.objects.filter(part_of__in=artifacts)
    require_all_visible(parts, grant, HiddenParts)
    parts.update(is_held=is_held)
    return artifacts.update(is_held=is_held)


def remove_artifact(artifact_id: uuid.UUID, grant: Grant = EVERYTHING) -> int:
    """Delete an artifact with its parts, pages, sources and original; return the revision of the
    deletion.

    Raises:
        DocumentHeld: it or one of its parts is under a legal hold.
        HiddenParts: the grant does not include one of its parts.
    """
    with transaction.atomic():
        artifact = Artifact.objects.select_for_update().require(artifact_id, grant)
        require_not_held(artifact)
        if artifact.part_of_id is None:  # a part has none
            require_all_visible(_select_parts(artifact), grant, HiddenParts)
            remove_parts(artifact)
        if artifact.has_file:
            delete_original_on_commit(artifact)
        assign_next_revision(artifact)
        artifact.delete()
    return artifact.revision


def remove_parts(artifact: Artifact, kept: Collection[uuid.UUID] = ()) -> dict[uuid.UUID, int]:
    """Delete the parts of an artifact, whose row the caller has locked, but for those to keep;
    return the revision of each deletion by the part's id. Raises ``DocumentHeld``: one of them is
    under a legal hold."""
    parts = _select_parts(artifact).exclude(pk__in=kept)
    if held := parts.filter(is_held=True).first():
        raise DocumentHeld(f"{held.external_id} is under a legal hold and cannot be deleted.")
    return {part_id: remove_artifact(part_id) for part_id in parts.values_list("pk", flat=True)}


def require_not_held(artifact: Artifact) -> None:
    """Check that a document may be deleted or replaced. Raises ``DocumentHeld`` if the artifact,
    whose row the caller has locked, is under a hold."""
    if artifact.is_held:
        raise DocumentHeld


def assign_next_revision(row: RevisedRow) -> None:
    """Assign the next revision to a row that the caller's transaction is about to save or delete.

    Searches can wait for it. An event is sent once they show an artifact's revision.
    """
    change = PendingRevision.objects.create(index=row.index, changed_id=row.pk)
    row.revision = change.pk


def retry_parsing(artifacts: QuerySet[Artifact]) -> int:
    """Reset failed file artifacts so that they are parsed again; return how many."""
    return parse_again(artifacts.filter(state=Artifact.State.FAILED, has_file=True))


def parse_again(artifacts: QuerySet[Artifact]) -> int:
    """Have the originals of these artifacts, which have been parsed or could not be, parsed again;
    return how many.

    Each gets a new revision, so that an event reports the result as for any other write. Searches
    find what was read before until then.
    """
    newest = PendingRevision.objects.filter(changed_id=OuterRef("pk")).order_by("-pk")
    with transaction.atomic():
        rows = artifacts.select_for_update().order_by().values_list("index", "pk")
        PendingRevision.objects.bulk_create(
            PendingRevision(index=index, changed_id=pk) for index, pk in rows
        )
        return artifacts.update(
            state=Artifact.State.RECEIVED, error_code="", error_detail="", warnings=[], **FRESH,
            pages_read=0, page_count=0,
            updated_at=Now(),
            revision=Subquery(newest.values("pk")[:1]),
        )  # fmt: skip


@contextmanager
def _check_space_then_discard(content: Content) -> Iterator[None]:
    """Check that the content fits the disk; delete its temporary file when the block ends."""
    try:
        require_free_disk(Path(settings.STRATA_DATA_DIR), content.byte_count)
        yield
    finally:
        if isinstance(content, FileContent):
            content.discard()


def _add_or_update(
    index: str,
    find: Callable[[], Found],
    content: Content,
    attributes: dict[str, Any],
    groups: Sequence[str] | None,
    grant: Grant,
    added_by: str,
    place: str | None,
) -> tuple[Artifact, AddOutcome]:
    with transaction.atomic():
        found = find()
        existing, part_of = found.artifact, attributes.get("part_of")
        attributes = {**attributes, **found.identified_by}
        if existing is None:
            artifact = Artifact(index=index)
            if place is not None:
                _set_place(artifact, place)
            artifact.is_held = part_of is not None and part_of.is_held
            artifact.groups = choose_groups_of_new_document(grant, groups)
            _apply_attributes(artifact, attributes)
            assign_next_revision(artifact)
            _set_content(artifact, content, added_by)
            return artifact, AddOutcome.ADDED
        if part_of is not None:
            if existing.part_of_id != part_of.pk:
                raise ContentConflict(
                    f"Another document has the external_id {existing.external_id}."
                )
            attributes, groups = {}, None
        elif not grant.includes_groups(existing.groups):
            raise ContentConflict(
                "This document is in the index already, and you may not see or change it.",
                fix="Give it another external_id, or ask its owner for access.",
            )
        if groups is not None:
            attributes = {
                **attributes,
                "groups": choose_changed_groups(grant, existing.groups, groups),
            }
        is_revised = existing.sha256 != content.sha256
        if is_revised:
            _require_replaceable(existing, grant)
            existing.replaced = _describe_replaced(existing)
        if place is not None and place != existing.place and not found.is_assumed:
            _set_place(existing, place)
        has_new_attributes = _apply_attributes(existing, attributes)
        if is_revised or _may_read_more(existing):
            assign_next_revision(existing)
            _set_content(existing, content, added_by)
        elif has_new_attributes:
            assign_next_revision(existing)
            existing.save()
        if has_new_attributes:
            _share_with_parts(existing, attributes, grant)
        return existing, AddOutcome.REVISED if is_revised else AddOutcome.UNCHANGED


def _set_place(artifact: Artifact, place: str) -> None:
    """Note where a document comes from; it is no change of the document."""
    Artifact.objects.filter(index=artifact.index, place=place).update(place="")
    Artifact.objects.filter(pk=artifact.pk).update(place=place)
    artifact.place = place


def _describe_replaced(artifact: Artifact) -> Replaced:
    return Replaced(**{each.name: getattr(artifact, each.name) for each in fields(Replaced)})


def _may_read_more(artifact: Artifact) -> bool:
    """Whether to parse the same file again: it failed, or OCR can read what was left out."""
    is_scanned_page_left_out = any(each["code"] == "scanned_page" for each in artifact.warnings)
    return artifact.state == Artifact.State.FAILED or (
        is_scanned_page_left_out
        and not ocr.list_missing(get_catalog().ocr_languages(artifact.index))
    )


def _clean_attributes(
    index: str, *, title: str | None, metadata: dict[str, Any] | None, url: str | None
) -> dict[str, Any]:
    """The attributes that were given, in the form in which they are stored."""
    attributes: dict[str, Any] = {}
    if title is not None:
        attributes["title"] = clean_name(title).strip()
    if url is not None:
        attributes["url"] = url
    if metadata is not None:
        attributes["metadata"] = get_catalog().clean_metadata(index, metadata)
    return attributes


def _apply_attributes(artifact: Artifact, attributes: dict[str, Any]) -> bool:
    changed = {
        name: value for name, value in attributes.items() if getattr(artifact, name) != value
    }
    for name, value in changed.items():
        setattr(artifact, name, value)
    if attributes.get("title"):
        artifact.has_user_title = True
    return bool(changed)


def _select_parts(artifact: Artifact) -> ArtifactQuerySet:
    return Artifact.objects.filter(part_of=artifact.pk)


def _require_replaceable(artifact: Artifact, grant: Grant) -> None:
    """Its parts are those of the content. Raises ``DocumentHeld`` and ``HiddenParts``."""
    require_not_held(artifact)
    require_all_visible(_select_parts(artifact), grant, HiddenParts)


def _share_with_parts(artifact: Artifact, attributes: dict[str, Any], grant: Grant) -> None:
    """Give the parts of an artifact the metadata and, of the groups that the grant shows, those
    that it was given. Raises ``HiddenParts``."""
    shared = {name: value for name, value in attributes.items() if name in ("groups", "metadata")}
    if not shared:
        return
    require_all_visible(_select_parts(artifact), grant, HiddenParts)
    for part in _select_parts(artifact).select_for_update():
        if "groups" in shared:
            shown = [group for group in artifact.groups if grant.shows_group(group)]
            shared["groups"] = choose_changed_groups(grant, part.groups, shown)
        if _apply_attributes(part, shared):
            assign_next_revision(part)
            part.save()


def _set_content(artifact: Artifact, content: Content, added_by: str) -> None:
    if artifact.has_file and artifact.sha256 != content.sha256:
        delete_original_on_commit(artifact)
    artifact.sha256 = content.sha256
    artifact.byte_count = content.byte_count
    artifact.is_scanned = False
    artifact.pages_read = artifact.page_count = 0
    artifact.error_code = artifact.error_detail = ""
    artifact.warnings = []
    for name, value in FRESH.items():
        setattr(artifact, name, value)
    if isinstance(content, FileContent):
        artifact.has_file = True
        artifact.added_by = added_by[:150]
        artifact.file_name = content.file_name
        artifact.state = Artifact.State.RECEIVED
        if not artifact.title:
            artifact.title = choose_title(artifact.index, content.file_name, "")
        artifact.save()  # first: if another process was faster, no file must be left
        get_storage().add(artifact.original_name, content.path)
        return
    artifact.has_file = False
    artifact.media_type = "text/plain"
    artifact.state = Artifact.State.PARSED
    pages = [ParsedPage(text=page, label="") for page in content.pages]
    if not any(page.text.strip() for page in pages):
        artifact.warnings = [{"code": "no_text", "detail": "There is no text in it to search."}]
    is_new = artifact._state.adding
    artifact.save()  # the pages need the row; receivers wait for the commit
    if not is_new:
        remove_parts(artifact)
    replace_pages(artifact, pages)
