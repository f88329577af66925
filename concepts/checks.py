"""System checks for the settings of concepts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register("strata")
def check_emergent_similarity(**kwargs: Any) -> list[CheckMessage]:
    """Check that STRATA_EMERGENT_SIMILARITY is above 0 and at most 1."""
    if 0 < settings.STRATA_EMERGENT_SIMILARITY <= 1:
        return []
    return [
        Error(
            "STRATA_EMERGENT_SIMILARITY must be a cosine above 0 and at most 1; it is "
            f"{settings.STRATA_EMERGENT_SIMILARITY}.",
            id="concepts.E001",
        )
    ]
