"""The query and the options of a search, and their limits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.exceptions import InvalidInput
from core.text import is_text
from indexing.models import IndexBuild
from indexing.spec import SparseSpec
from retrieval.fusion import FusionMethod

MAX_LIMIT = 100
MAX_OFFSET = 1_000
MAX_QUERY_CHARS = 10_000
MAX_INDEXES = 20


class Mode(StrEnum):
    HYBRID = "hybrid"
    DENSE = "dense"
    SPARSE = "sparse"


SCORE_KINDS = {Mode.HYBRID: "rrf", Mode.DENSE: "cosine", Mode.SPARSE: "bm25"}


def name_score(mode: Mode, fusion: FusionMethod, sparse: SparseSpec) -> str:
    """Name the kind of a search's scores; ``fusion`` and ``sparse`` are those of its index."""
    if mode == Mode.SPARSE and sparse.model is not None:
        return "dot_product"
    return "standard_score" if mode == Mode.HYBRID and fusion == "scores" else SCORE_KINDS[mode]


class StaleHitPolicy(StrEnum):
    """Whether hits whose document changed after indexing are flagged or omitted."""

    FLAG = "flag"
    OMIT = "omit"


class GroupBy(StrEnum):
    """The groups of passages of which a search returns only the best: see decision 77."""

    PAGE = "page"
    ARTIFACT = "artifact"


class SummaryType(StrEnum):
    PAGE = "page_summary"
    ARTIFACT = "artifact_summary"
    ALL = "all"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (SummaryType.PAGE, SummaryType.ARTIFACT) if self == SummaryType.ALL else (str(self),)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What a search may be told beside its indexes and its query. No way of searching follows all
    of them; a retriever refuses the others.

    ``filter`` has the API's syntax (``retrieval.filters``). ``min_score`` is on the scale of the
    mode's scores, ``min_similarity`` a cosine in every mode. ``min_revision``: the hits must
    reflect all writes up to this revision. ``with_similarity`` also measures the cosine of each
    hit, whatever the mode.
    """

    mode: Mode = Mode.HYBRID
    limit: int = 10
    offset: int = 0
    filter: Mapping[str, Any] | None = None
    min_score: float | None = None
    min_similarity: float | None = None
    verify: bool = True
    explain: bool = False
    stale: StaleHitPolicy = StaleHitPolicy.FLAG
    min_revision: int | None = None
    with_similarity: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", Mode(self.mode))  # the API gives their names
        object.__setattr__(self, "stale", StaleHitPolicy(self.stale))

    def check(self, *, max_limit: int = MAX_LIMIT) -> None:
        """Raises ``InvalidInput``: names the option."""
        if not 1 <= self.limit <= max_limit:
            raise InvalidInput(f"limit must be between 1 and {max_limit}.", field="limit")
        if not 0 <= self.offset <= MAX_OFFSET:
            raise InvalidInput(f"offset must be between 0 and {MAX_OFFSET}.", field="offset")
        if self.min_score is not None and not math.isfinite(self.min_score):
            raise InvalidInput("min_score must be a finite number.", field="min_score")


def check_query(indexes: Sequence[str | IndexBuild], query: str) -> None:
    """Check the parameters that every search has. Raises ``InvalidInput``: names the parameter."""
    if not query.strip():
        raise InvalidInput("The query is empty.", field="query")
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidInput(f"The query is longer than {MAX_QUERY_CHARS} characters.", field="query")
    if not is_text(query):
        raise InvalidInput(
            "The query contains an unpaired surrogate, which is not valid Unicode.", field="query"
        )
    if not indexes:
        raise InvalidInput("index must name at least one index.", field="index")
    if len(indexes) > MAX_INDEXES:
        raise InvalidInput(f"A search takes at most {MAX_INDEXES} indexes.", field="index")
