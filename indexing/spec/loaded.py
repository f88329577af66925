"""The specs of this process, loaded once, and single specs read again from their files."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from core.exceptions import UnknownIndex
from indexing.exceptions import InvalidSpec
from indexing.spec import IndexSpec, parse_spec


def get_specs() -> dict[str, IndexSpec]:
    """Every valid spec by name, read once per process."""
    return _load_folder(Path(settings.STRATA_SPECS_DIR))[0]


def get_invalid_specs() -> dict[str, str]:
    """What is wrong with each other spec, by name, read at the same time."""
    return _load_folder(Path(settings.STRATA_SPECS_DIR))[1]


def explain_missing_index(name: str) -> str | None:
    """Why there is no index of this name although its spec exists, and what to do about it."""
    try:
        reread_spec(name)
    except UnknownIndex:
        return None
    except UnicodeDecodeError:
        return f"{name}.yaml is not UTF-8."
    except InvalidSpec as error:
        return f"Its spec is not valid: {error}"
    return f"{name}.yaml exists: manage.py status makes the index, once an earlier one is removed."


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
    return parse_spec(name, (folder / f"{name}.yaml").read_text(encoding="utf-8"))


@lru_cache
def _load_folder(folder: Path) -> tuple[dict[str, IndexSpec], dict[str, str]]:
    specs: dict[str, IndexSpec] = {}
    invalid: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            specs[path.stem] = parse_spec(path.stem, path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            invalid[path.stem] = f"{path.name} is not UTF-8."
        except InvalidSpec as error:
            invalid[path.stem] = str(error)
    return specs, invalid
