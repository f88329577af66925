"""The specs in their folder: all valid ones, what is wrong with the others, and single ones."""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from core.exceptions import UnknownIndex
from indexing.exceptions import InvalidSpec
from indexing.spec import IndexSpec, parse_spec


def get_specs() -> dict[str, IndexSpec]:
    """Every valid spec by name, read again after a file has changed."""
    return _load_files(_list_files())[0]


def get_invalid_specs() -> dict[str, str]:
    """What is wrong with each other spec, by name."""
    return _load_files(_list_files())[1]


def explain_missing_index(name: str) -> str | None:
    """Why there is no index of this name although its spec exists, and what to do about it."""
    try:
        reread_spec(name)
    except UnknownIndex:
        return None
    except InvalidSpec as error:
        return f"Its spec is not valid: {error}"
    if name in get_invalid_specs():
        return f"Its spec is not valid: {get_invalid_specs()[name]}"
    return f"{name}.yaml exists: the index is made within a minute, once an earlier one is removed."


def has_spec_file(name: str) -> bool:
    """Whether the spec's file exists now."""
    return (Path(settings.STRATA_SPECS_DIR) / f"{name}.yaml").exists()


def reread_spec(name: str) -> IndexSpec:
    """Read one spec from its file again.

    Raises:
        UnknownIndex: there is no such file.
        InvalidSpec: it is not valid.
    """
    folder = Path(settings.STRATA_SPECS_DIR)
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in names:
        raise UnknownIndex(f"There is no spec named {name!r}.", field="index", allowed=names)
    return _read_file(folder / f"{name}.yaml")


# A file's path, and the time and size by which a change shows.
_File = tuple[Path, int, int]


def _list_files() -> tuple[_File, ...]:
    found = ((path, path.stat()) for path in Path(settings.STRATA_SPECS_DIR).glob("*.yaml"))
    return tuple(sorted((path, status.st_mtime_ns, status.st_size) for path, status in found))


@lru_cache(maxsize=1)
def _load_files(files: tuple[_File, ...]) -> tuple[dict[str, IndexSpec], dict[str, str]]:
    specs, invalid = _read_files(files)
    for name, problem in _find_shared_collections(specs).items():
        del specs[name]
        invalid[name] = problem
    return specs, invalid


def _read_files(files: tuple[_File, ...]) -> tuple[dict[str, IndexSpec], dict[str, str]]:
    specs: dict[str, IndexSpec] = {}
    invalid: dict[str, str] = {}
    for path, *_ in files:
        try:
            specs[path.stem] = _read_file(path)
        except InvalidSpec as error:
            invalid[path.stem] = str(error)
    return specs, invalid


def _read_file(path: Path) -> IndexSpec:
    """
    Raises:
        InvalidSpec: it is not valid.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidSpec(f"{path.name} is not UTF-8.") from None
    return parse_spec(path.stem, text)


def find_shared_collection(spec: IndexSpec) -> str | None:
    """What is wrong with a spec that would share a collection with another file's."""
    others = _read_files(_list_files())[0]
    return _find_shared_collections({**others, spec.name: spec}).get(spec.name)


def _find_shared_collections(specs: Mapping[str, IndexSpec]) -> dict[str, str]:
    """What is wrong with each spec that names a collection of another one."""
    names_by_collection = defaultdict[str, list[str]](list)
    for name, spec in specs.items():
        for collection in sorted({spec.collection_alias(kind) for kind in spec.kinds}):
            names_by_collection[collection].append(name)
    return {
        name: f"{name}.yaml: collections: {others} name {collection!r}, too; give each index its "
        "own."
        for collection, names in names_by_collection.items()
        for name in names
        if (others := ", ".join(f"{other}.yaml" for other in names if other != name))
    }
