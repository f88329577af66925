"""Keeps the server's folders out of texts that leave it."""

import os
import re
import sys
from pathlib import Path

from django.conf import settings

_SETTINGS = (
    "STRATA_MODELS_DIR", "STRATA_VECTORS_DIR", "STRATA_FILES_DIR", "STRATA_SPECS_DIR",
    "STRATA_PIPELINES_DIR", "STRATA_GOLDEN_DIR", "STRATA_DATA_DIR", "STRATA_PROJECT_DIR",
    "BASE_DIR",
)  # fmt: skip


def hide_server_paths(text: str) -> str:
    """Replace the server's folders by the names of their settings: an operator knows them, and
    others must not learn where anything is. Logs keep the paths."""
    folders = {Path(getattr(settings, name)): name for name in _SETTINGS}
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path's raises if the user has none
    folders |= {Path(sys.prefix): "sys.prefix", home: "~"}
    for folder in sorted(folders, key=lambda path: -len(path.parts)):
        if len(folder.parts) > 1:  # not the root
            text = re.sub(rf"(?<![\w./~-]){re.escape(str(folder))}(?![\w-])", folders[folder], text)
    return text
