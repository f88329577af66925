"""The measures that rankings are evaluated by, with the values of trec_eval. A document is relevant
if its grade is above 0; one that was not judged is not. A query without relevant documents has 0.

Sources:
    Järvelin and Kekäläinen, "Cumulated Gain-Based Evaluation of IR Techniques", 2002: nDCG, with
    grades as gains. Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008,
    chapter 8: the others.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

from core.exceptions import InvalidInput

NAMES: Final = ("nDCG", "R", "P", "AP", "RR", "Success")
_ALIASES: Final = {"NDCG": "nDCG", "Recall": "R", "MAP": "AP", "MRR": "RR"}
_WITH_CUTOFF: Final = ("R", "P", "Success")  # these are not defined without one
_MEASURE: Final = re.compile(r"([A-Za-z]+)(?:@([1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True)
class Measure:
    """``cutoff``: how many documents count, of the best; None for all."""

    name: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    def compute(self, ranking: Sequence[str], grades: Mapping[str, int]) -> float:
        """``ranking``: documents, best first, each once. ``grades``: by document."""
        ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
        if not ideal:
            return 0.0
        gains = [max(grades.get(document, 0), 0) for document in ranking[: self.cutoff]]
        ranks = [rank for rank, gain in enumerate(gains, start=1) if gain]
        match self.name:
            case "nDCG":
                return _discount(gains) / _discount(ideal[: self.cutoff])
            case "R":
                return len(ranks) / len(ideal)
            case "P":
                return len(ranks) / (self.cutoff or 1)
            case "AP":
                return sum(n / rank for n, rank in enumerate(ranks, start=1)) / len(ideal)
            case "RR":
                return 1 / ranks[0] if ranks else 0.0
        return float(bool(ranks))  # Success


def parse_measures(names: Iterable[str]) -> list[Measure]:
    """Read names such as nDCG@10. Raises ``InvalidInput``: a name is not a measure, or there is no
    name."""
    measures = []
    for given in names:
        found = _MEASURE.fullmatch(given.strip())
        name = _ALIASES.get(found[1], found[1]) if found else ""
        if found is None or name not in NAMES or (found[2] is None and name in _WITH_CUTOFF):
            raise InvalidInput(
                f"{given[:100]!r} is not a measure.",
                field="measures",
                fix="Name measures as ir_measures does: nDCG@10, R@100, P@5, AP, RR, Success@1.",
            )
        measures.append(Measure(name, int(found[2]) if found[2] else None))
    if not measures:
        raise InvalidInput("measures must name at least one measure.", field="measures")
    return measures


def _discount(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))
