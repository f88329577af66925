"""The files of all-MiniLM-L6-v2 as ONNX: the package strata-rag-weights (``weights/``)."""

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Final

from indexing.exceptions import ModelUnavailable

NAME: Final = "all-MiniLM-L6-v2"
NAMES: Final = {NAME, f"sentence-transformers/{NAME}"}
DIMENSION: Final = 384
WINDOW: Final = 256  # tokens
FILES: Final = {"float32": "model.onnx", "int8": "model-int8.onnx"}  # by precision

PACKAGE: Final = "strata_rag_weights"
HASHES: Final = "sha256.json"
INSTALL: Final = (
    "pip install --force-reinstall strata-rag-weights, or in a clone: rm .venv/.base, then make run"
)


def find_model() -> Path:
    """The folder of the model, its hashes checked (0.1 s). Raises ``ModelUnavailable``: the package
    is not installed, or a file is missing or damaged."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise ModelUnavailable(f"The weights of {NAME} are not installed.", fix=INSTALL)
    folder = Path(package.submodule_search_locations[0])
    try:
        expected = json.loads((folder / HASHES).read_bytes())
        damaged = [name for name in expected if _sha256(folder / name) != expected[name]]
    except FileNotFoundError as error:
        name = Path(error.filename).name
        raise ModelUnavailable(f"{PACKAGE}/{name} is missing.", fix=INSTALL) from None
    except ValueError:
        damaged = [HASHES]
    if damaged:
        raise ModelUnavailable(
            f"{PACKAGE}/{damaged[0]} is damaged: its SHA-256 differs.", fix=INSTALL
        )
    return folder


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
