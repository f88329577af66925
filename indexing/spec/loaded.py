"""The specs of this process, loaded once, and single specs read again from their files."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from core.exceptions import UnknownIndex
from indexing.spec import IndexSpec, parse_spec, read_specs


def get_specs() -> dict[str, IndexSpec]:
    """Every spec by name, read once per process.

    Raises:
        InvalidSpec: the first file that is not valid.
    """
    return _load_folder(Path(settings.STRATA_SPECS_DIR))


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
def _load_folder(folder: Path) -> dict[str, IndexSpec]:
    return read_specs(folder)
