"""The specs this service was started with."""

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from indexing.spec import IndexSpec, load_specs


def get_specs() -> dict[str, IndexSpec]:
    """Every spec by name, read once per process.

    Raises:
        InvalidSpec: the first file that is not valid.
    """
    return _load(Path(settings.STRATA_SPECS_DIR))


@lru_cache
def _load(folder: Path) -> dict[str, IndexSpec]:
    return load_specs(folder)
