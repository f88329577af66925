"""Artifacts without pages: each owns the nodes of one entity that another app keeps, such as a
concept, and its revisions track changes to that entity."""

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from core.text import hash_text
from documents.exceptions import ContentConflict
from documents.models import Artifact
from documents.services import assign_next_revision


def add_entity_artifact(index: str, role: Artifact.Role, *, name: str, title: str) -> Artifact:
    """Add the artifact of a new entity; ``name`` must be unique in its index for this role.

    Raises:
        ContentConflict: there is one of this name.
    """
    artifact = Artifact(index=index, role=role, state=Artifact.State.PARSED)
    return _save_entity(artifact, name, title)


def update_entity_artifact(artifact_id: UUID, *, name: str, title: str) -> Artifact:
    """Give an entity its next revision, and its name as it is now.

    Raises:
        ContentConflict: another one has this name.
    """
    with transaction.atomic():
        artifact = Artifact.objects.select_for_update().get(pk=artifact_id)
        return _save_entity(artifact, name, title)


def compute_entity_identity(role: str, name: str) -> str:
    """The identity string of an entity; the same role and name give the same identity."""
    return f"{role} {hash_text(name)}"


def _save_entity(artifact: Artifact, name: str, title: str) -> Artifact:
    artifact.identity = compute_entity_identity(artifact.role, name)
    artifact.title = title
    artifact.has_user_title = True
    clash: dict[str, Any] = {"index": artifact.index, "identity": artifact.identity}
    try:
        with transaction.atomic():
            assign_next_revision(artifact)
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
