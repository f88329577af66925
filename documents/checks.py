"""System checks for the settings of documents."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from documents.source_splitting import MIN_WORDS

MAX_OVERLAP_WORDS = MIN_WORDS // 2


@register
def check_source_overlap(**kwargs: Any) -> list[CheckMessage]:
    """Check that sources repeat at most half of the shortest source."""
    if 0 <= settings.STRATA_SOURCE_OVERLAP_WORDS <= MAX_OVERLAP_WORDS:
        return []
    return [
        Error(
            f"STRATA_SOURCE_OVERLAP_WORDS must be 0 to {MAX_OVERLAP_WORDS} words; it is "
            f"{settings.STRATA_SOURCE_OVERLAP_WORDS}.",
            id="documents.E001",
        )
    ]
