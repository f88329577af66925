"""Artifacts without pages, for what an app keeps beside documents and has in the ledger: one
bears the nodes of one entity, and its revisions tell of changes to it."""

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from core.text import hash_text
from documents.exceptions import ContentConflict
from documents.models import Artifact
from documents.services import note_change


def add_entity(index: str, role: Artifact.Role, *, name: str, title: str) -> Artifact:
    """The artifact of a new entity; ``name`` is what its index may have but once for this role.

    Raises:
        ContentConflict: there is one of this name.
    """
    artifact = Artifact(index=index, role=role, state=Artifact.State.PARSED)
    return _write(artifact, name, title)


def change_entity(artifact_id: UUID, *, name: str, title: str) -> Artifact:
    """Give an entity its next revision, and its name as it is now.

    Raises:
        ContentConflict: another one has this name.
    """
    with transaction.atomic():
        artifact = Artifact.objects.select_for_update().get(pk=artifact_id)
        return _write(artifact, name, title)


def identify_entity(role: str, name: str) -> str:
    """What makes it the same entity of its index again."""
    return f"{role} {hash_text(name)}"


def _write(artifact: Artifact, name: str, title: str) -> Artifact:
    artifact.identity = identify_entity(artifact.role, name)
    artifact.title = title
    artifact.has_given_title = True
    clash: dict[str, Any] = {"index": artifact.index, "identity": artifact.identity}
    try:
        with transaction.atomic():
            note_change(artifact)
            artifact.save()
    except IntegrityError:
        if not Artifact.objects.filter(**clash).exclude(pk=artifact.pk).exists():
            raise
        kind = artifact.get_role_display().lower()
        raise ContentConflict(
            f"{artifact.index} has a {kind} named {title!r} already.",
            fix="Change that one, or merge the two.",
        ) from None
    return artifact
