"""Loads specs as indexes, and stores the settings of an index that belong to no build."""

from django.db import transaction

from documents.models import Artifact
from indexing.models import Index, IndexBuild, SearchSettings
from indexing.spec import (
    IndexSpec,
    StoreSpec,
    dump_recipe,
    dump_search_settings,
    dump_store_settings,
)
from indexing.spec.loaded import get_invalid_specs, get_specs


def store_search_settings(index: Index, spec: IndexSpec) -> None:
    """Make searches of the index use the spec's settings, whichever build is live, and store
    whether they need a key. A change of the settings gets the next number; the caller must hold the
    lock of the index's row."""
    if index.is_public != spec.public:
        index.is_public = spec.public
        index.save(update_fields=["is_public"])
    if has_search_settings(index, spec):
        return
    current = index.search_settings
    index.search_settings = SearchSettings.objects.create(
        index=index,
        number=1 if current is None else current.number + 1,
        content=dump_search_settings(spec),
    )
    index.save(update_fields=["search_settings"])


def has_search_settings(index: Index, spec: IndexSpec) -> bool:
    current = index.search_settings
    return current is not None and current.content == dump_search_settings(spec)


def save_store_settings(index: Index, spec: IndexSpec) -> None:
    """Make the reconciliation apply the spec's store settings to the index's collections."""
    if not has_store_settings(index, spec):
        index.store_settings = dump_store_settings(spec)
        index.save(update_fields=["store_settings"])


def has_store_settings(index: Index, spec: IndexSpec) -> bool:
    if index.store_settings is None:
        return spec.store == StoreSpec()
    return bool(index.store_settings == dump_store_settings(spec))


def load_specs() -> list[str]:
    """Create or update an index for every valid spec; return notes for the operator.

    A changed recipe replaces the live build of an empty index; if the index has documents, the
    live build keeps its recipe. Search settings take effect at once.
    """
    notes = []
    has_build = set(Index.objects.exclude(live_build=None).values_list("name", flat=True))
    for name, problem in get_invalid_specs().items():
        effect = "keeps its last valid spec" if name in has_build else "is left out"
        notes.append(
            f"{problem.removesuffix('.')}. Until this is mended, the index {name} {effect}."
        )
    for name, spec in get_specs().items():
        if note := _load_spec(name, spec):
            notes.append(note)
    return notes


def load_new_specs() -> None:
    """Create an index for every valid spec that has none, so that a new file needs no restart."""
    in_use = Index.objects.filter(removal_requested_at=None).exclude(live_build=None)
    for name in get_specs().keys() - in_use.values_list("name", flat=True):
        _load_spec(name, get_specs()[name])


@transaction.atomic
def _load_spec(name: str, spec: IndexSpec) -> str | None:
    """Returns a note if the live build keeps another recipe."""
    index, _ = Index.objects.select_for_update().get_or_create(name=name)
    if not _restore_if_removed(index):
        return None
    store_search_settings(index, spec)
    save_store_settings(index, spec)
    live = index.live_build
    if live is None:
        _create_live_build(index, spec)
    elif live.is_made_by(spec):
        return None
    elif not Artifact.objects.filter(index=name).exists():
        index.builds.filter(pk=live.pk).retire()
        _create_live_build(index, spec)
    else:
        return (
            f"specs/{name}.yaml has a new recipe; {live} keeps its old one. To estimate the cost "
            f"of a new build: strata plan {name}; to make and promote it: strata apply "
            f"{name} --promote"
        )
    return None


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


def _create_live_build(index: Index, spec: IndexSpec) -> None:
    index.live_build = IndexBuild.objects.create(
        index=index,
        number=index.next_build_number(),
        recipe=dump_recipe(spec),
        fingerprint=spec.fingerprint,
        placement=spec.placement,
        state=IndexBuild.State.LIVE,
    )
    index.save(update_fields=["live_build"])
