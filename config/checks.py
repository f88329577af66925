"""System check of the names of environment variables."""

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from django.core.checks import CheckMessage, Warning, register


@register("strata")
def check_names_of_variables(**kwargs: Any) -> list[CheckMessage]:
    """A variable whose name is nearly that of a setting is most likely mistyped. Other unknown
    names are left alone: a spec may name a variable that holds a key."""
    folder = Path(__file__).parent
    sources = [*folder.glob("*.py"), *folder.glob("settings/*.py")]
    known = {
        name
        for path in sources
        for name in re.findall(r'"(STRATA_[A-Z_]+)"', path.read_text(encoding="utf-8"))
    }
    given = (name for name in os.environ if name.startswith("STRATA_") and name not in known)
    return [
        Warning(
            f"{name} is the name of no setting, and has no effect.",
            hint=f"Did you mean {nearest[0]}?",
            id="config.W001",
        )
        for name in sorted(given)
        if (nearest := get_close_matches(name, known, 1, cutoff=0.9))
    ]
