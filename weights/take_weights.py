"""Build hook: takes the model that ``make_model.py`` has made in this environment."""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "strata_rag_weights"


class TakeWeights(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = importlib.util.find_spec(PACKAGE)
        if package is None or not package.submodule_search_locations:
            raise ModuleNotFoundError(f"There is no {PACKAGE} yet: make wheel makes it.")
        folder = Path(package.submodule_search_locations[0])
        build_data["force_include"][str(folder)] = PACKAGE
