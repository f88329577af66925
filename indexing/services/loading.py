"""Specs, mirrored as indexes."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from documents.models import Artifact
from indexing.models import Index, IndexBuild
from indexing.spec.loaded import get_specs


def sync_indexes() -> list[str]:
    """Make every spec an index, and return what an operator should know.

    A recipe that changed while the index was empty replaces its build; one that changed under
    documents leaves the live build as it is. Search settings are taken over at once.
    """
    notes = []
    for name, spec in get_specs().items():
        with transaction.atomic():
            index, _ = Index.objects.get_or_create(name=name)
            if not _stands(index):
                continue
            live = index.live_build
            recipe = spec.model_dump(mode="json")
            if live is None:
                _start_live_build(index, recipe, spec.fingerprint)
            elif live.spec.fingerprint == spec.fingerprint:  # as this version of us takes both
                if (live.recipe, live.fingerprint) != (recipe, spec.fingerprint):
                    live.recipe, live.fingerprint = recipe, spec.fingerprint
                    live.save(update_fields=["recipe", "fingerprint"])
            elif not Artifact.objects.filter(index=name).exists():
                live.state, live.retired_at = IndexBuild.State.RETIRED, timezone.now()
                live.save(update_fields=["state", "retired_at"])
                _start_live_build(index, recipe, spec.fingerprint)
            else:
                notes.append(
                    f"specs/{name}.yaml changed what is stored; {live} goes on by its old recipe. "
                    f"What the new one takes: manage.py plan {name}; to make it: "
                    f"manage.py apply {name} --promote"
                )
    return notes


def _stands(index: Index) -> bool:
    """Whether no one has it removed; one that is gone comes back, as its file is there."""
    if index.removal_began_at is None:
        return True
    is_left = Artifact.objects.filter(index=index.pk).exists()
    if is_left or index.builds.filter(removed_at=None).exists():
        return False
    index.removal_began_at = None
    index.save(update_fields=["removal_began_at"])
    return True


def _start_live_build(index: Index, recipe: dict[str, Any], fingerprint: str) -> None:
    index.live_build = IndexBuild.objects.create(
        index=index,
        number=index.next_number(),
        recipe=recipe,
        fingerprint=fingerprint,
        state=IndexBuild.State.LIVE,
    )
    index.save(update_fields=["live_build"])
