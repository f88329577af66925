"""The query and the options of a search, and their limits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Real
from typing import Any

import numpy as np

from core.exceptions import InvalidInput
from core.text import is_text
from indexing.models import IndexBuild
from indexing.spec import SparseSpec
from indexing.stores import DenseVector
from retrieval.fusion import FusionMethod
from retrieval.search.query_syntax import ReadQuery

MAX_LIMIT = 100
MAX_OFFSET = 1_000
MAX_QUERY_CHARS = 10_000
MAX_INDEXES = 20
MAX_DIMENSION = 65_536  # as of ``EmbeddingSpec``


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


class Versions(StrEnum):
    """Which of the passages that repeat each other are hits."""

    NEWEST = "newest"
    ALL = "all"


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
    hit, whatever the mode. ``vector`` takes the place of the query's own, which is then not
    embedded; its length does not matter. ``versions``: of passages that repeat each other, only the
    newest, or all (``retrieval.search.versions``). ``must``, ``must_not`` and ``phrases``: words
    and phrases that the text of a hit has or lacks. ``reads_syntax``: read those that are typed in
    the query, too. ``read``: a query that was read before; the one that is searched is then text.
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
    vector: DenseVector | None = field(default=None, compare=False)  # a list is converted
    versions: Versions = Versions.NEWEST
    must: Sequence[str] = ()
    must_not: Sequence[str] = ()
    phrases: Sequence[str] = ()
    reads_syntax: bool = False
    read: ReadQuery | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", Mode(self.mode))  # the API gives their names
        object.__setattr__(self, "stale", StaleHitPolicy(self.stale))
        object.__setattr__(self, "versions", Versions(self.versions))
        if self.vector is not None:
            object.__setattr__(self, "vector", read_vector(self.vector))

    def check(self, *, max_limit: int = MAX_LIMIT) -> None:
        """Check that the options are within their bounds. Raises ``InvalidInput``: names the
        option."""
        if not 1 <= self.limit <= max_limit:
            raise InvalidInput(f"limit must be between 1 and {max_limit}.", field="limit")
        if not 0 <= self.offset <= MAX_OFFSET:
            raise InvalidInput(f"offset must be between 0 and {MAX_OFFSET}.", field="offset")
        if self.min_score is not None and not math.isfinite(self.min_score):
            raise InvalidInput("min_score must be a finite number.", field="min_score")

    def settle_mode(self, query: str) -> "SearchOptions":
        """These options with the mode in which this query is searched: by meaning if it has no
        words beside its vector. Raises ``InvalidInput``: a search by words has a vector."""
        if self.vector is None:
            return self
        if self.mode == Mode.SPARSE:
            raise InvalidInput(
                "A search by words, in the mode sparse, uses no vector.",
                field="vector",
                fix="Leave the vector out, or search in the mode hybrid or dense.",
            )
        return self if query else replace(self, mode=Mode.DENSE)


def read_vector(numbers: Sequence[float] | DenseVector) -> DenseVector:
    """The numbers as a vector of length 1, as vectors are compared by their direction. Raises
    ``InvalidInput``: it is not a list of finite numbers, or has no direction."""
    is_list = isinstance(numbers, list | tuple | np.ndarray) and 0 < len(numbers) <= MAX_DIMENSION
    if is_list and all(isinstance(each, Real) and not isinstance(each, bool) for each in numbers):
        try:
            vector = np.array(numbers, np.float64)
        except OverflowError:  # an integer of hundreds of digits
            vector = np.array([np.inf])
        if np.isfinite(vector).all():
            if not (largest := np.abs(vector).max()):
                raise InvalidInput("The numbers of a vector must not all be 0.", field="vector")
            vector /= largest  # squares of very large and very small numbers would be inf and 0
            return (vector / np.linalg.norm(vector)).astype(np.float32)
    raise InvalidInput(
        f"vector must be a list of 1 to {MAX_DIMENSION:,} finite numbers.", field="vector"
    )


def check_query(
    indexes: Sequence[str | IndexBuild], query: str, *, may_be_empty: bool = False
) -> None:
    """Check the parameters that every search has. Raises ``InvalidInput``: names the parameter."""
    if not query.strip() and not (may_be_empty and not query):
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
