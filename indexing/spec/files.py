"""Reads and writes the file of one spec, for people who edit it in the browser."""

from pathlib import Path

from django.conf import settings

from core.atomic_files import write_file
from core.exceptions import InvalidInput, UnknownIndex
from indexing.exceptions import InvalidSpec, SpecNotWritten
from indexing.spec.endpoint import EndpointSpec
from indexing.spec.index import IndexSpec
from indexing.spec.loaded import find_shared_collection, reread_spec
from indexing.spec.reading import parse_spec
from indexing.spec.sections import NAME_PATTERN

MAX_CHARS = 50_000


def read_spec_text(name: str) -> str:
    """
    Raises:
        UnknownIndex: there is no such file.
        InvalidSpec: it cannot be read.
    """
    try:
        if NAME_PATTERN.fullmatch(name) is None:
            raise FileNotFoundError
        return _path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        names = sorted(path.stem for path in Path(settings.STRATA_SPECS_DIR).glob("*.yaml"))
        raise UnknownIndex.named(name, names) from None
    except UnicodeDecodeError:
        raise InvalidSpec(f"{name}.yaml is not UTF-8.") from None
    except OSError as error:
        raise InvalidSpec(f"{name}.yaml cannot be read: {error.strerror}.") from None


def write_spec_text(name: str, text: str, *, replaces: str | None) -> IndexSpec:
    """Check the text, and write it to the file of the spec.

    Args:
        replaces: the text that was read before; None for a new file.

    Raises:
        InvalidInput: the name cannot be that of an index.
        InvalidSpec: the text is no valid spec, or names another endpoint than the file: it might
            send the service's keys there.
        SpecNotWritten: the service may not write specs, or the file has changed meanwhile.
    """
    if not settings.STRATA_EDIT_SPECS:
        raise SpecNotWritten(
            "The service may not write specs.",
            fix=f"Change {name}.yaml where it is kept.",
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
    if _find_endpoints(spec) - _find_current_endpoints(name):
        raise InvalidSpec(
            f"{name}.yaml: an endpoint can only be named or changed in the file itself.",
            fix="Edit the file on the server.",
        )
    current = read_spec_text(name) if _path(name).exists() else None
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
    return spec


def _find_endpoints(spec: IndexSpec) -> set[EndpointSpec]:
    return {model.endpoint for model in spec.embedding_specs if model.endpoint is not None}


def _find_current_endpoints(name: str) -> set[EndpointSpec]:
    try:
        return _find_endpoints(reread_spec(name))
    except (UnknownIndex, InvalidSpec):
        return set()


def _path(name: str) -> Path:
    return Path(settings.STRATA_SPECS_DIR) / f"{name}.yaml"
