"""The types of sources: those of Strata, and those of other distributions, which name theirs by an
entry point of the group ``strata.sources``."""

from functools import cache
from importlib.metadata import entry_points

from django.utils.module_loading import import_string

from feeds.protocol import SourceSettings

GROUP = "strata.sources"
BUILT_IN = {"folder": "feeds.types.folder.FolderSource"}


@cache
def list_types() -> dict[str, str]:
    """Name -> the path of its class."""
    added = {each.name: each.value.replace(":", ".") for each in entry_points(group=GROUP)}
    return {**added, **BUILT_IN}


@cache
def get_type(name: str) -> type[SourceSettings]:
    """Raises ``ValueError``: there is no such type, or what it needs is not installed."""
    known = list_types()
    if name not in known:
        raise ValueError(
            f"there is no type {name[:100]!r}; allowed here: {', '.join(sorted(known))}"
        )
    try:
        found: type[SourceSettings] = import_string(known[name])
    except ImportError as error:
        raise ValueError(f"the type {name!r} cannot be loaded: {error}") from error
    return found
