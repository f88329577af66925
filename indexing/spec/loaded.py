"""The specs in their folder: all valid ones, what is wrong with the others, and single ones, which
people can edit in the browser."""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from core.atomic_files import write_file
from core.exceptions import InvalidInput, UnknownIndex
from indexing.exceptions import InvalidSpec, SpecNotWritten
from indexing.spec import NAME_PATTERN, IndexSpec, parse_spec

MAX_CHARS = 50_000  # of a file that is written


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
        return f"Its spec is not valid: {error.with_fix()}"
    if name in get_invalid_specs():
        return f"Its spec is not valid: {get_invalid_specs()[name]}"
    return f"{name}.yaml exists: the index is made within a minute, once an earlier one is removed."


def has_spec_file(name: str) -> bool:
    """Whether the spec's file exists now."""
    return _path(name).exists()


def reread_spec(name: str) -> IndexSpec:
    """Read one spec from its file again.

    Raises:
        UnknownIndex: there is no such file.
        InvalidSpec: it is not valid.
    """
    return parse_spec(name, read_spec_text(name))


def read_spec_text(name: str) -> str:
    """Read the file of a spec, whether it is valid or not.

    Raises:
        UnknownIndex: there is no such file.
        InvalidSpec: it cannot be read.
    """
    names = sorted(path.stem for path in Path(settings.STRATA_SPECS_DIR).glob("*.yaml"))
    if name not in names:
        detail = f"There is no spec named {name[:100]!r}."
        raise UnknownIndex(detail, field="index", allowed=names)
    return _read_text(_path(name))


def write_spec_text(name: str, text: str, *, replaces: str | None) -> None:
    """Check the text, and write it to the file of the spec.

    Args:
        replaces: the text that was read before; None for a new file.

    Raises:
        InvalidInput: the name cannot be that of an index.
        InvalidSpec: the text is no valid spec, or names another endpoint than the file: it might
            send the service's keys there. Or it names other folders and hosts to read.
        SpecNotWritten: the service may not write specs, or the file has changed meanwhile.
    """
    if not settings.STRATA_EDIT_SPECS:
        raise SpecNotWritten(
            "The service may not write specs.", fix=f"Change {name}.yaml where it is kept."
        )
    if NAME_PATTERN.fullmatch(name) is None:
        raise InvalidInput(
            "The name of an index is a lowercase letter, then up to 62 lowercase letters, digits "
            "and hyphens.",
            field="index",
        )
    spec = parse_spec(name, text)
    if problem := find_shared_collection(spec):
        raise InvalidSpec(problem)
    try:
        current_spec: IndexSpec | None = reread_spec(name)
    except (UnknownIndex, InvalidSpec):
        current_spec = None
    if _find_operators_settings(spec) - _find_operators_settings(current_spec):
        raise InvalidSpec(
            f"{name}.yaml: an endpoint or a source can only be named or changed in the file "
            "itself.",
            fix="Edit the file on the server.",
        )
    current = read_spec_text(name) if has_spec_file(name) else None
    if current != replaces:
        raise SpecNotWritten(
            "The file has changed since it was read." if replaces else "The file exists already.",
            fix="Read it again, and repeat your change.",
        )
    try:
        write_file(_path(name), text.encode())
    except OSError as error:
        raise SpecNotWritten(
            f"The file cannot be written: {error.strerror}.",
            fix="Make the folder of the specs writable for the service, or change the file there.",
        ) from None


def _find_operators_settings(spec: IndexSpec | None) -> set[object]:
    if spec is None:
        return set()
    sections = {each.model_dump_json() for each in spec.app_sections if each.only_in_file}
    return sections | {model.endpoint for model in spec.embedding_specs if model.endpoint}


def _path(name: str) -> Path:
    return Path(settings.STRATA_SPECS_DIR) / f"{name}.yaml"


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
            specs[path.stem] = parse_spec(path.stem, _read_text(path))
        except InvalidSpec as error:
            invalid[path.stem] = error.with_fix()
    return specs, invalid


def _read_text(path: Path) -> str:
    """Read the file of a spec. Raises ``InvalidSpec``: it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidSpec(f"{path.name} is not UTF-8.") from None
    except OSError as error:
        raise InvalidSpec(f"{path.name} cannot be read: {error.strerror}.") from None


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
