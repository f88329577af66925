"""Recorded error responses of Qdrant 1.18.3, on one node and on three."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def read_answers(name: str) -> list[dict[str, Any]]:
    """The responses of ``one-node`` or ``cluster``."""
    answers: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return answers
