"""The section of concepts in a spec."""

from collections.abc import Mapping

from django.conf import settings
from pydantic import Field

from indexing.spec.sections import PROMPT_PATTERN, AppSection


class ConceptSpec(AppSection):
    """Concepts and the vocabulary of their relationships: added by people, and with ``extract``
    also extracted from every source."""

    stored_in = "both"
    measured_thresholds = {
        "STRATA_EMERGENT_SIMILARITY": 0.85,
        "the default min_similarity of search/subgraph": 0.7,
    }

    extract: bool = False
    per_source: int = Field(5, ge=1, le=50)  # at most
    prompt: str = Field("concepts", pattern=PROMPT_PATTERN)
    model: str = ""

    @property
    def thresholds(self) -> Mapping[str, float]:
        return {
            **self.measured_thresholds,
            "STRATA_EMERGENT_SIMILARITY": settings.STRATA_EMERGENT_SIMILARITY,
        }

    @property
    def lack_without_model(self) -> str:
        if not self.extract:
            return ""
        return (
            "no concepts are found in documents; those that are imported or added by hand are "
            "searched."
        )
