"""The folder with what people write: specs, pipelines and golden queries."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from config.environment import BASE_DIR


def start_project_folder() -> Iterator[str]:
    """Copy the folders that the project folder lacks from those that Strata comes with, and yield
    a sentence about each. A folder that an environment variable names is not made."""
    if settings.STRATA_PROJECT_DIR == BASE_DIR:
        return  # a clone
    for name in ("specs", "pipelines", "golden"):
        folder = Path(settings.STRATA_PROJECT_DIR) / name
        is_used = folder == Path(getattr(settings, f"STRATA_{name.upper()}_DIR"))
        if is_used and not folder.exists():
            shutil.copytree(BASE_DIR / name, folder)
            yield f"Made {folder}."
