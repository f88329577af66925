"""The answer of a knowledge search."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from retrieval.search.run import AnyAnswer

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class KnowledgeAnswer(AnyAnswer, Generic[Found]):
    found: Found
