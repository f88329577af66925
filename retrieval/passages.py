"""Passages from which answers are written, and what they say together of two things. The apps that
write answers and that find such relationships (``retrieval.hooks``) do not know one another."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from retrieval.search import Hit
from text.quotable_sentences import LocatedSentence

if TYPE_CHECKING:
    from indexing.stores.sparse import Bm25Encoder


class NotCopied:
    """Immutable, so it need not be copied: Haystack deep-copies the inputs of each component."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class Passage(NotCopied):
    """A hit inside a pipeline. The last component set ``score``, on the scale that ``score_kind``
    names; ``hit.score`` keeps the store's score. ``steps``: what each component did to it, as JSON.
    ``heading``: that of its source."""

    hit: Hit
    score: float
    score_kind: str
    similarity: float | None = None  # cosine to the query that found it, if it was measured
    steps: tuple[Mapping[str, Any], ...] = ()
    heading: str = ""

    @property
    def id(self) -> str:
        return str(self.hit.node_id)

    def with_score(
        self, score: float, score_kind: str, component: str, details: Mapping[str, Any]
    ) -> Self:
        """A copy with a new score and one more step."""
        steps = (*self.steps, {"component": component, **details})
        return replace(self, score=score, score_kind=score_kind, steps=steps)


@dataclass(frozen=True, slots=True)
class AnswerContext(NotCopied):
    """A numbered passage that the answer can cite; ``number`` starts at 1. ``relationships``: those
    whose first quote it holds."""

    number: int
    passage: Passage
    text: str
    relationships: "tuple[QuotedRelationship, ...]" = ()


@dataclass(frozen=True, slots=True)
class Quote(NotCopied):
    """Words that the context holds at the offsets of ``sentence``."""

    context: AnswerContext
    sentence: LocatedSentence

    @property
    def words(self) -> str:
        return " ".join(self.sentence.text.split())


class QuotedRelationship(NotCopied, ABC):
    """What passages say together of the two things that they quote. An app finds them
    (``retrieval.hooks``)."""

    quotes: tuple[Quote, ...]  # of one of the two or of both

    @property
    @abstractmethod
    def statement(self) -> str:
        """The relationship in words."""

    @abstractmethod
    def count_named_parts(self, query: str, encoder: "Bm25Encoder") -> int:
        """How many of its parts a query names: the one thing, the other, and what joins them."""

    @abstractmethod
    def render(self) -> dict[str, Any]:
        """As the API answers it."""
