"""Loads spec files: creates an index and its live build for each."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from documents.models import Artifact
from indexing.models import Index, IndexBuild
from indexing.spec.loaded import get_specs


def load_specs() -> list[str]:
    """Create or update an index for every spec; return notes for the operator.

    A changed recipe replaces the live build of an empty index; if the index has documents, the
    live build keeps its recipe. Search settings take effect at once.
    """
    notes = []
    for name, spec in get_specs().items():
        with transaction.atomic():
            index, _ = Index.objects.get_or_create(name=name)
            if not _restore_if_removed(index):
                continue
            live = index.live_build
            recipe = spec.model_dump(mode="json")
            if live is None:
                _create_live_build(index, recipe, spec.fingerprint)
            elif live.spec.fingerprint == spec.fingerprint:  # as this version of us takes both
                if (live.recipe, live.fingerprint) != (recipe, spec.fingerprint):
                    live.recipe, live.fingerprint = recipe, spec.fingerprint
                    live.save(update_fields=["recipe", "fingerprint"])
            elif not Artifact.objects.filter(index=name).exists():
                live.state, live.retired_at = IndexBuild.State.RETIRED, timezone.now()
                live.save(update_fields=["state", "retired_at"])
                _create_live_build(index, recipe, spec.fingerprint)
            else:
                notes.append(
                    f"specs/{name}.yaml changed what is stored; {live} goes on by its old recipe. "
                    f"What the new one takes: manage.py plan {name}; to make it: "
                    f"manage.py apply {name} --promote"
                )
    return notes


def _restore_if_removed(index: Index) -> bool:
    """Whether the index is in use; a completely removed one is restored, as its spec exists."""
    if index.removal_requested_at is None:
        return True
    is_left = Artifact.objects.filter(index=index.pk).exists()
    if is_left or index.builds.filter(removed_at=None).exists():
        return False
    index.removal_requested_at = None
    index.save(update_fields=["removal_requested_at"])
    return True


def _create_live_build(index: Index, recipe: dict[str, Any], fingerprint: str) -> None:
    index.live_build = IndexBuild.objects.create(
        index=index,
        number=index.next_build_number(),
        recipe=recipe,
        fingerprint=fingerprint,
        state=IndexBuild.State.LIVE,
    )
    index.save(update_fields=["live_build"])
