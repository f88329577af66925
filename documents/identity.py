"""Which document is added again, and which one only has the same name.

A document is found by its external id, by the place that its file comes from, or else by its
content. Its bare name finds it only for a caller who asks for that (``IfExists``).
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from access.grants import Grant
from core.exceptions import InvalidInput
from core.text import clean_text, hash_text
from documents.contents import Content
from documents.exceptions import DocumentExists, SeveralDocumentsExist
from documents.models import Artifact, ArtifactQuerySet
from documents.originals import FileContent


class IfExists(StrEnum):
    """What becomes of a document whose name another one has, with other content."""

    KEEP = "keep"
    REPLACE = "replace"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the file of a document comes from.

    ``path``: the same for the same file, however its folder was named. ``names``: the external ids
    that the document may get, best first; none where the caller gives it one. ``still_exists``:
    whether there is a file at another place. ``assumed``: the places of the documents that were
    taken for those of other files, and do not have them yet.
    """

    path: str
    names: tuple[str, ...] = ()
    still_exists: Callable[[str], bool] = lambda path: True
    assumed: Mapping[UUID, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The document that is added again, if there is one, and what identifies it from now on.

    ``is_assumed``: it has the name and the content of the file, but may come from another place.
    """

    artifact: Artifact | None
    identified_by: dict[str, Any]
    is_assumed: bool = False


def find_by_external_ids(index: str, external_ids: Iterable[str]) -> dict[str, Artifact]:
    """Return the artifacts of an index that have one of these external ids, keyed by it."""
    identities = {external_id: identify(external_id) for external_id in external_ids}
    artifacts = Artifact.objects.filter(index=index, identity__in=identities.values())
    found = {artifact.identity: artifact for artifact in artifacts}
    return {name: found[identity] for name, identity in identities.items() if identity in found}


def identify(external_id: str) -> str:
    """The identity of a document with this external id. Names are compared in NFC: a Mac writes
    them decomposed."""
    return f"id {clean_text(external_id)}"


def identify_by_content(content: Content, attributes: dict[str, Any]) -> str:
    """The identity of a document without an external id."""
    if isinstance(content, FileContent):
        # The suffix decides how it is read: the same bytes with another are another document.
        return f"file {content.sha256} {Path(content.file_name).suffix.lower()[:20]}"
    parts = [content.sha256, attributes.get("title") or None, attributes.get("url") or None]
    return f"text {hash_text(json.dumps(parts))}"


def find_existing(
    index: str,
    content: Content,
    attributes: dict[str, Any],
    *,
    external_id: str | None,
    place: Place | None,
    if_exists: IfExists | None,
    grant: Grant,
) -> Found:
    """Find and lock the document of the index that is added again, or that the caller replaces.

    Raises:
        DocumentExists, SeveralDocumentsExist: the caller has to say whether to replace it.
    """
    rows = Artifact.objects.select_for_update().filter(index=index)
    if place is not None and place.names:
        return _find_by_place(rows, content, attributes, place, if_exists)
    if external_id is not None:
        return _find_by_external_id(rows, content, attributes, external_id, if_exists, grant)
    return _find_by_content(rows, content, attributes, if_exists, grant)


def _find_by_external_id(
    rows: ArtifactQuerySet,
    content: Content,
    attributes: dict[str, Any],
    external_id: str,
    if_exists: IfExists | None,
    grant: Grant,
) -> Found:
    identity = identify(external_id)
    identified_by = {"external_id": clean_text(external_id), "identity": identity}
    existing = rows.filter(identity=identity).first()
    if attributes.get("part_of") is not None:
        return Found(existing, identified_by)
    if existing is None:
        # The visible one that only this content identifies can be given the external id.
        visible = rows.visible_to(grant).filter(external_id=None)
        own_identity = identify_by_content(content, attributes)
        return Found(visible.filter(identity=own_identity).first(), identified_by)
    is_asked = if_exists == IfExists.REFUSE and grant.includes_groups(existing.groups)
    if is_asked and existing.sha256 != content.sha256:
        if isinstance(content, FileContent):
            # Kept beside the other one when it was added before.
            same = rows.visible_to(grant).filter(sha256=content.sha256, part_of=None)
            kept = same.filter(file_name=content.file_name, external_id=None).first()
            if kept is not None:
                return Found(kept, {})
        raise _make_exists_error(existing, "or without an external_id to keep both.")
    return Found(existing, identified_by)


def _find_by_content(
    rows: ArtifactQuerySet,
    content: Content,
    attributes: dict[str, Any],
    if_exists: IfExists | None,
    grant: Grant,
) -> Found:
    identity = identify_by_content(content, attributes)
    identified_by = {"identity": identity}
    existing = rows.filter(identity=identity).first()
    if existing is not None:
        return Found(existing, {})
    if not isinstance(content, FileContent):
        if if_exists in (IfExists.REPLACE, IfExists.REFUSE):
            raise InvalidInput(
                f"A text without an external_id has no name, so that `if_exists` cannot be "
                f"{if_exists}.",
                field="if_exists",
                allowed=[IfExists.KEEP],
                fix="Give the text an external_id.",
            )
        return Found(None, identified_by)
    files = rows.filter(part_of=None)
    # The same file may have been given with an external id.
    suffix = Path(content.file_name).suffix
    same = files.filter(sha256=content.sha256, file_name__iendswith=suffix).first()
    if same is not None:
        return Found(same, {})
    if if_exists in (IfExists.REPLACE, IfExists.REFUSE):
        named = list(files.visible_to(grant).filter(file_name=content.file_name)[:2])
        if len(named) > 1:
            raise SeveralDocumentsExist(
                f"Several documents of the index are named {content.file_name!r}.",
                field="if_exists",
                fix="Replace one by its id, with PUT artifacts/{id}/content, or keep all.",
            )
        if named and if_exists == IfExists.REFUSE:
            raise _make_exists_error(named[0], "or with `keep` to keep both.")
        if named:
            return Found(named[0], {} if named[0].external_id else identified_by)
    return Found(None, identified_by)


def _find_by_place(
    rows: ArtifactQuerySet,
    content: Content,
    attributes: dict[str, Any],
    place: Place,
    if_exists: IfExists | None,
) -> Found:
    at_place = rows.filter(place=place.path).first()
    if at_place is not None:
        return Found(at_place, {})
    shorter_names = _list_ends(place.names[0])[1:]
    identities = [identify(name) for name in (*place.names, *shorter_names)]
    by_name = {each.external_id: each for each in rows.filter(identity__in=identities)}
    named = by_name.get(place.names[0])
    if named is not None and if_exists == IfExists.REPLACE:
        return Found(named, {})
    # Earlier releases kept no place. A document with one of the file's names may be the file's, or
    # that of another folder.
    unplaced = [
        each
        for each in map(by_name.get, (*place.names, *shorter_names))
        if each is not None
        and not each.place
        and place.assumed.get(each.pk, place.path) == place.path
        and if_exists != IfExists.KEEP
    ]
    for each in unplaced:
        if each.sha256 == content.sha256:
            return Found(each, {}, is_assumed=if_exists is None)
    for each in unplaced:
        is_of_a_command = each.has_file and not each.added_by
        if is_of_a_command and each.external_id in place.names[:2] and if_exists is None:
            raise DocumentExists(
                f"{_describe(each)}, with other content, and where it came from is not known.",
                field="if_exists",
                fix="Give --if-exists replace if it is this file's earlier content, or "
                "--if-exists keep to keep both.",
            )
    moved = _find_moved(rows, content, place)
    if moved is not None:
        return Found(moved, {})
    # Not the end of the other's path: of a/2019/x and b/2019/x, the second is not called 2019/x.
    others = [f"/{each.place}" for each in by_name.values()]
    name = next(
        name
        for name in place.names
        if name not in by_name and not any(other.endswith(f"/{name}") for other in others)
    )
    nameless = rows.filter(external_id=None, identity=identify_by_content(content, attributes))
    return Found(nameless.first(), {"external_id": name, "identity": identify(name)})


def _find_moved(rows: ArtifactQuerySet, content: Content, place: Place) -> Artifact | None:
    """The document of this content whose file is no longer where it was, under the same name."""
    name = PurePath(place.path).name
    same = rows.filter(sha256=content.sha256, part_of=None).exclude(place="")
    moved = [
        each
        for each in same
        if PurePath(each.place).name == name and not place.still_exists(each.place)
    ]
    ends = set(_list_ends(place.path))
    return max(moved, key=lambda each: len(ends & {*_list_ends(each.place)}), default=None)


def _list_ends(path: str) -> list[str]:
    """The path, and what is left of it without its first name, its first two names, and so on."""
    names = path.split("/")
    return ["/".join(names[start:]) for start in range(len(names))]


def _describe(artifact: Artifact) -> str:
    name = artifact.external_id or artifact.file_name or artifact.title
    return f"A document named {name!r} was added on {artifact.created_at.date()}"


def _make_exists_error(existing: Artifact, otherwise: str) -> DocumentExists:
    return DocumentExists(
        f"{_describe(existing)}, with other content.",
        field="if_exists",
        fix=f"Add it with `if_exists` = `replace` to replace that document, {otherwise}",
    )
