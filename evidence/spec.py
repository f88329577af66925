"""The section of findings in a spec."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from indexing.spec.sections import AppSection

if TYPE_CHECKING:
    from indexing.spec import IndexSpec


class EvidenceSpec(AppSection):
    """The index accepts findings, and stores only one of several with the same meaning."""

    stored_in = "index"
    measured_thresholds = {"evidence.threshold": 0.9}

    threshold: float = Field(0.9, gt=0, le=1)  # cosine from which two are duplicates
    # words: and only if they have the same words; similarity: whatever their words
    duplicates: Literal["words", "similarity"] = "words"

    @property
    def thresholds(self) -> Mapping[str, float]:
        return {"evidence.threshold": self.threshold}

    def find_problem(self, spec: "IndexSpec") -> str:
        if spec.chunks.embed:
            return ""
        return (
            "evidence: chunks.embed must be true, because findings are compared by the vectors of "
            "their chunks"
        )
