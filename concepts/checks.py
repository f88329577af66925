"""System checks of what operators set for concepts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register
def check_emergence(**kwargs: Any) -> list[CheckMessage]:
    """A cosine above 1 is never reached; from 0 down, everything is near everything."""
    if 0 < settings.STRATA_EMERGENT_SIMILARITY <= 1:
        return []
    return [
        Error(
            "STRATA_EMERGENT_SIMILARITY is a cosine: above 0, and 1 at most; it is "
            f"{settings.STRATA_EMERGENT_SIMILARITY}.",
            id="concepts.E001",
        )
    ]
