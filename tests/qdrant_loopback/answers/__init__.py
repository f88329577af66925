"""What Qdrant 1.18.3 answered, on one node and on three, when something was wrong."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def read_answers(name: str) -> list[dict[str, Any]]:
    """The answers of ``one-node`` or ``cluster``."""
    answers: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return answers
